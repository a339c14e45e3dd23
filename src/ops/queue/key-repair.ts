import type {
  ClearOrder,
  ClearReport,
  KeyVerdict,
  LetterCount,
  QuarantineView,
  ResetOrder,
  ResetReport,
} from '#queue';
import type { Key } from '#record';

/** What operators do about a damaged key; made in room daemon, for queues of log files only. The drain is told of what was mended. */
export interface KeyRepair {
  /** Undefined for a key that is not in quarantine. */
  show(key: Key): Promise<QuarantineView | undefined>;
  classify(key: Key): Promise<KeyVerdict>;
  /** Passes dead records that lead; returns how many. */
  reconcile(key: Key): Promise<number>;
  clear(key: Key, order: ClearOrder): Promise<ClearReport>;
  reset(key: Key, order: ResetOrder): Promise<ResetReport>;
  countLetters(key: Key): Promise<LetterCount>;
  writeOff(key: Key): Promise<LetterCount>;
  /** Drains a halted key again. */
  resume(key: Key): void;
}
