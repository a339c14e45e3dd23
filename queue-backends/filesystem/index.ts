/**
 * queue-backends/filesystem: the default queue; one commit journal, per-session files filled from it.
 *
 * Lives here: frames, segments, journal, session files, offset records, checkpoint, recovery, limits. README.md has the on-disk format.
 * `journal/`: segments and frames. `session/`: the files of one key and what memory has of them. `append/`: the way in. `recovery/`: the start.
 * `lifecycle/`: the end of an epoch, compaction. `verify/`: the offline look at all of it, which changes nothing.
 * Not here: what records mean; who drains them.
 * Promises: P1, P2, P3, P4, P6, P7, P9.
 * May call: base, signals, disk, record, fence, state, queue. Called by: daemon/assemble.ts, tests.
 */
export type {
  CompactionLimits,
  FilesystemQueueLimits,
  FilesystemQueueOptions,
  StateGap,
} from './engine.ts';
export { readQueueBond, rebindQueueFolder } from './format-file.ts';
export type { QueueSnapshot } from './snapshot.ts';
export { filesystemPlug, type FilesystemQueue, openFilesystemQueue } from './open-queue.ts';
export { verifyQueue, type VerifyOptions, type VerifySummary } from './verify/verify-queue.ts';
export type {
  BondedLog,
  GraphWord,
  VerifiedJournal,
  VerifiedKey,
  VerifyFinding,
} from './verify/findings.ts';
export { parseOffset, type ParsedOffset } from './session/parse-offset.ts';
export { offsetRecords, type OffsetRecord, type OffsetRecords } from './session/offset-record.ts';
