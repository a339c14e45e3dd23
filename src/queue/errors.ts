import { defineError, type ErrorFactory } from '#base';

/** Codes of every queue backend (ING spec §9). A backend classifies foreign errors into these once, at its edge. */

/** The next step for a key whose stored state is wrong: nothing is guessed, nothing is deleted. */
const keyStops =
  'that key alone is stopped and its files are kept; see "millrace quarantine show" and docs/recovery.md';
const keysNamedMax = 3;

/** A request may name thousands of keys; all of them are in the details. */
function named(keys: readonly string[]): string {
  const more = keys.length - keysNamedMax;
  const first = keys.slice(0, keysNamedMax).join(', ');
  return more > 0 ? `${first} and ${more} more` : first;
}

type Keys = { readonly keys: readonly string[]; readonly retryAfterMs?: number };

export const queueWriteFailed: ErrorFactory<{ reason: string } & Partial<Keys>> = defineError(
  'QUEUE_WRITE_FAILED',
  'retry',
  ({ reason }) =>
    `the queue could not be written (${reason}): nothing of this request was kept, send it again`,
);

export const queueFull: ErrorFactory<
  { limit: string; usedBytes: number; limitBytes: number } & Partial<Keys>
> = defineError(
  'QUEUE_FULL',
  'retry',
  ({ limit, usedBytes, limitBytes }) =>
    `the queue is full: ${limit} is ${limitBytes} bytes and ${usedBytes} are used; send again once the drain has caught up`,
);

/** QFS-30: the reserve, and room to drain what waits. */
export const diskFull: ErrorFactory<{ freeBytes: number; limitBytes: number } & Partial<Keys>> =
  defineError(
    'DISK_FULL',
    'retry',
    ({ freeBytes, limitBytes }) =>
      `the disk is nearly full: ${freeBytes} bytes are free, and ${limitBytes} are kept to apply what was accepted (queue.reserve_bytes and room for the backlog); send again later`,
  );

export const backlogFull: ErrorFactory<{ usedBytes: number; limitBytes: number } & Keys> =
  defineError(
    'BACKLOG_FULL',
    'retry',
    ({ keys, usedBytes, limitBytes }) =>
      `the backlog of ${named(keys)} is full: queue.max_bytes_per_key is ${limitBytes} bytes and ${usedBytes} wait; send again once they are drained`,
  );

export const sessionQuarantined: ErrorFactory<{ reason: string } & Keys> = defineError(
  'SESSION_QUARANTINED',
  'retry',
  ({ keys, reason }) =>
    `${named(keys)} is in quarantine (${reason}): its records wait; see "millrace quarantine show" and docs/recovery.md`,
);

/** A deletion takes no record away that waits (ING-717). */
export const sessionPending: ErrorFactory<{ key: string }> = defineError(
  'SESSION_PENDING',
  'reject',
  ({ key }) =>
    `${key} has records that wait to be applied, and is left as it is: wait for them with "millrace wait" (GET /v1/wait?until=idle), then delete it`,
);

export const sessionDeleting: ErrorFactory<Keys> = defineError(
  'SESSION_DELETING',
  'retry',
  ({ keys }) =>
    `${named(keys)} is being deleted: send again in a moment, what comes then begins a new life of the session`,
);

export const draining: ErrorFactory<{ what: string }> = defineError(
  'DRAINING',
  'retry',
  ({ what }) => `${what} is stopping and takes no new work: send again in a moment`,
);

export const recordFraming: ErrorFactory<{ index: number; reason: string }> = defineError(
  'RECORD_FRAMING',
  'reject',
  ({ index, reason }) =>
    `record ${index} is not one JSON object on one line (${reason}): nothing of the request was kept, send each event as one line`,
);

export const recordCorrupt: ErrorFactory<{ key: string; place: string; reason: string }> =
  defineError(
    'RECORD_CORRUPT',
    'corrupt',
    ({ key, place, reason }) =>
      `a stored record of ${key} is damaged at ${place} (${reason}): ${keyStops}`,
  );

export const offsetCorrupt: ErrorFactory<{ key: string; reason: string }> = defineError(
  'OFFSET_CORRUPT',
  'corrupt',
  ({ key, reason }) => `the offset record of ${key} cannot be read (${reason}): ${keyStops}`,
);

export const offsetBeyondLog: ErrorFactory<{ key: string; offset: number; end: number }> =
  defineError(
    'OFFSET_BEYOND_LOG',
    'corrupt',
    ({ key, offset, end }) =>
      `the offset of ${key} is ${offset}, its log ends at ${end}: ${keyStops}`,
  );

export const offsetMisaligned: ErrorFactory<{ key: string; offset: number }> = defineError(
  'OFFSET_MISALIGNED',
  'corrupt',
  ({ key, offset }) => `the offset ${offset} of ${key} is not the end of a record: ${keyStops}`,
);

export const offsetUnsupported: ErrorFactory<{ key: string; minReader: number }> = defineError(
  'OFFSET_UNSUPPORTED',
  'corrupt',
  ({ key, minReader }) =>
    `the offset record of ${key} needs reader version ${minReader}: start the newer millrace that wrote it`,
);

export const logGenerationMissing: ErrorFactory<{ key: string; generation: number }> = defineError(
  'LOG_GENERATION_MISSING',
  'corrupt',
  ({ key, generation }) =>
    `generation ${generation} of the log of ${key}, which its offset record names, is missing: ${keyStops}`,
);

export const cursorCorrupt: ErrorFactory<{ key: string; reason: string }> = defineError(
  'CURSOR_CORRUPT',
  'corrupt',
  ({ key, reason }) => `the stored cursor of ${key} cannot be built (${reason}): ${keyStops}`,
);

export const cursorTooLarge: ErrorFactory<{ key: string; bytes: number; bytesMax: number }> =
  defineError(
    'CURSOR_TOO_LARGE',
    'corrupt',
    ({ key, bytes, bytesMax }) =>
      `the cursor of ${key} has ${bytes} bytes, cursor.max_bytes is ${bytesMax}: its maps are bounded, so this is a defect; ${keyStops}`,
  );

export const epochMismatch: ErrorFactory<{ key: string; position: string; epoch: string }> =
  defineError(
    'EPOCH_MISMATCH',
    'retry',
    ({ key, position, epoch }) =>
      `position ${position} of ${key} is not of its epoch ${epoch}: read the key again`,
  );

export const positionRegression: ErrorFactory<{
  key: string;
  position: string;
  committed: string;
}> = defineError(
  'POSITION_REGRESSION',
  'retry',
  ({ key, position, committed }) =>
    `${key} is committed to ${committed}, beyond ${position}: read the key again`,
);

export const commitConflict: ErrorFactory<{ key: string; position: string }> = defineError(
  'COMMIT_CONFLICT',
  'retry',
  ({ key, position }) =>
    `${key} is committed to ${position} with another cursor: one position has one true cursor; read the key again`,
);

export const foreignRecord: ErrorFactory<{ key: string; found: number; known: number }> =
  defineError(
    'FOREIGN_RECORD',
    'corrupt',
    ({ key, found, known }) =>
      `the offset record of ${key} has write ${found}, we wrote ${known}: somebody else writes this root, stop them; ${keyStops}`,
  );

export const cursorRequired: ErrorFactory<{ key: string }> = defineError(
  'CURSOR_REQUIRED',
  'reject',
  ({ key }) =>
    `a commit of ${key} came without a cursor: position and state move together or not at all`,
);

export const capabilityMissing: ErrorFactory<{ backend: string; capability: string }> = defineError(
  'CAPABILITY_MISSING',
  'reject',
  ({ backend, capability }) =>
    `the ${backend} queue has no ${capability}: ask its capabilities before the call`,
);

export const guardStale: ErrorFactory<{ key: string; reason: string }> = defineError(
  'GUARD_STALE',
  'reject',
  ({ key, reason }) => `the guard of ${key} cannot be used (${reason}): take the lock again`,
);

export const notOwnerThread: ErrorFactory<{ thread: number; owner: number }> = defineError(
  'NOT_OWNER_THREAD',
  'reject',
  ({ thread, owner }) =>
    `thread ${thread} touched the queue that thread ${owner} opened: go through its port`,
);

export const backendProtocolMismatch: ErrorFactory<{
  backend: string;
  range: string;
  protocol: string;
}> = defineError(
  'BACKEND_PROTOCOL_MISMATCH',
  'fatal',
  ({ backend, range, protocol }) =>
    `the ${backend} queue implements protocol ${range}, this millrace speaks ${protocol}: install a matching version`,
);

/** `ways` are those that apply now. */
export const clearRefused: ErrorFactory<{
  key: string;
  mode: string;
  reason: string;
  ways: readonly string[];
}> = defineError(
  'CLEAR_REFUSED',
  'reject',
  ({ key, mode, reason, ways }) =>
    `${key} cannot be cleared by ${mode}: ${reason}; ${
      ways.length === 0
        ? 'see "millrace quarantine show"'
        : `what applies now: ${ways.map((way) => `--${way}`).join(', ')}`
    }`,
);

export const resetRefused: ErrorFactory<{ key: string; reason: string }> = defineError(
  'RESET_REFUSED',
  'reject',
  ({ key, reason }) => `${key} cannot be drained again from where its log begins: ${reason}`,
);

export const writeOffRefused: ErrorFactory<{ key: string; reason: string }> = defineError(
  'WRITE_OFF_REFUSED',
  'reject',
  ({ key, reason }) => `nothing of ${key} can be written off: ${reason}`,
);

export const positionStale: ErrorFactory<{ key: string; position: string }> = defineError(
  'POSITION_STALE',
  'retry',
  ({ key, position }) =>
    `the position of ${key} was set anew after ${position} was read: read the key again`,
);

export const deadLetterState: ErrorFactory<{ id: string; outcome: string }> = defineError(
  'DEAD_LETTER_STATE',
  'reject',
  ({ id, outcome }) =>
    outcome === 'unknown'
      ? `${id} is no dead letter of its key: "millrace dead list" shows them all`
      : `dead letter ${id} is ${outcome} already: "millrace dead show" tells when and by whom`,
);

export const compactionRefused: ErrorFactory<{ key: string; reason: string }> = defineError(
  'COMPACTION_REFUSED',
  'reject',
  ({ key, reason }) => `the log of ${key} is not compacted now: ${reason}; nothing was changed`,
);
