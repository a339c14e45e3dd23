/** What a format makes of one line of a file. */
export type Translated =
  /** The body of `POST /v1/events`, one line. */
  | { readonly kind: 'event'; readonly body: string }
  /** Nothing to send: an empty line. */
  | { readonly kind: 'skip' }
  | {
      readonly kind: 'reject';
      /** The code that admission would give. */
      readonly code: 'RECORD_NOT_JSON' | 'EVENT_INVALID';
      readonly message: string;
    };

/** What the caller knows of lines that do not say it themselves. */
export interface SourceDefaults {
  readonly workspace?: string | undefined;
  readonly session?: string | undefined;
  /** Of the file, as far as it is one: its folders may name the project. */
  readonly path?: string | undefined;
  /** ISO 8601: for files in which no row has a time. */
  readonly time?: string | undefined;
}

export interface Translator {
  translate(line: Uint8Array): Translated;
}
