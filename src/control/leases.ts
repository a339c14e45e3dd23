/** One lease row per domain (fence.md §2.2); what the embedded tenure needs of it. */
export interface LeaseRow {
  readonly domain: string;
  readonly generation: number;
  /** Null while nobody holds the domain. */
  readonly holder: {
    readonly label: string;
    readonly node: string;
    readonly pid: number;
    readonly acquiredAt: string;
  } | null;
}

export interface LeaseOrder {
  readonly domain: string;
  /** Fresh for each acquire, never used twice (FEN-106). */
  readonly token: string;
  readonly label: string;
  readonly node: string;
  readonly pid: number;
  /** The new generation is above it too: a guard's mark that is ahead of the row (FEN-113). */
  readonly atLeast?: number;
}

export interface LeaseRows {
  /** Undefined for a domain that was never taken. */
  read(domain: string): LeaseRow | undefined;
  /**
   * Takes the domain whatever the row says and returns the new generation, above every one before (FEN-110). Only for who holds
   * `root.lock`: the lock proves that the former holder ended (FEN-858).
   */
  take(order: LeaseOrder): number;
  /** Frees the row if `token` still holds it, keeping its generation (FEN-108, FEN-111); false when another holds it. */
  release(domain: string, token: string): boolean;
}

export const readLeaseSql = `
SELECT fence_name, generation, holder_token, holder_label, holder_node, holder_pid, acquired_at
FROM writer_fence_lease WHERE fence_name = ?`;

export const takeLeaseSql = `
INSERT INTO writer_fence_lease
  (fence_name, generation, holder_token, holder_label, holder_node, holder_pid, acquired_at, renewed_at)
VALUES (:domain, :at_least + 1, :token, :label, :node, :pid, :at, :at)
ON CONFLICT (fence_name) DO UPDATE SET
  generation = max(generation, :at_least) + 1,
  holder_token = :token, holder_label = :label, holder_node = :node, holder_pid = :pid,
  acquired_at = :at, renewed_at = :at, expires_at = NULL, ttl_seconds = NULL
RETURNING generation`;

export const releaseLeaseSql = `
UPDATE writer_fence_lease
SET holder_token = NULL, holder_label = NULL, holder_node = NULL, holder_pid = NULL,
  acquired_at = NULL, renewed_at = NULL, expires_at = NULL
WHERE fence_name = ? AND holder_token = ?
RETURNING generation`;

export const recordLeaseEventSql = `
INSERT INTO writer_fence_event (fence_name, generation, kind, holder_label, node, at, detail)
VALUES (?, ?, ?, ?, ?, ?, ?)`;

/** The history is pruned, so that it never grows without end. */
export const leaseHistoryDays = 30;
export const pruneLeaseEventsSql = 'DELETE FROM writer_fence_event WHERE at < ?';
