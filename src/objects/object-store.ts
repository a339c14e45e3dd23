/**
 * Content-addressed, put-once bytes. Promises: P11 in small: nothing ever overwrites stored bytes; a put that resolved is durable.
 * Later plugs: S3, Azure, GCS.
 */
export interface ObjectStore {
  /** Stores bytes under their SHA-256 unless they are there already; durable when it resolves. */
  put(sha256: string, bytes: Uint8Array, mediaType: string): Promise<void>;
  /** Undefined when absent; rejects with OBJECT_CORRUPT when the stored bytes do not match their name. */
  read(sha256: string): Promise<Uint8Array | undefined>;
  has(sha256: string): Promise<boolean>;
  close(): Promise<void>;
}
