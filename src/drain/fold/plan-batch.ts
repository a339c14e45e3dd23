import { isMillraceError, messageOf, sha256Hex, type MillraceError } from '#base';
import { checkMutations, type Step } from '#graph';
import { HANDLER_FAILED, type FoldContext, type Folded, type SpilledValue } from '#handlers';
import { recordCorrupt, type BatchItem } from '#queue';
import { parseLine, type Cursor, type Key, type LogRecord, type Position } from '#record';
import { estimateBytes } from './estimate-bytes.ts';

/** How a record is folded; `fold` of room handlers, or a test's own. */
export type Fold = (cursor: Cursor, record: LogRecord, context: FoldContext) => Folded;

/** A folded record that goes to the store, with what its dead letter would need. */
export interface PlannedStep extends Step {
  readonly item: BatchItem;
  /** Cursor before the record: the one that stays when it dies (ING-510). */
  readonly before: Cursor;
  /** Estimate of what the store has to write. */
  readonly bytes: number;
  readonly values: readonly SpilledValue[];
}

/** Records that the graph holds already: folded for their cursor alone (ING-539). */
export interface ResentRecords {
  readonly count: number;
  readonly after: Position;
  readonly sha256: string;
  readonly cursor: Cursor;
}

/** Where a plan ends before its batch does. */
export interface PlanEnd {
  readonly kind: 'poison' | 'corrupt';
  readonly item: BatchItem;
  /** Cursor before the record. */
  readonly before: Cursor;
  readonly error: MillraceError;
  /** The fold threw what it never should: a bug, and an alert (ING-536). */
  readonly isDefect: boolean;
}

export interface BatchPlan {
  readonly workspace: string;
  readonly session: string;
  /** Accept time of the first record, RFC 3339; for the lag. */
  readonly acceptedAt: string | undefined;
  readonly resent: ResentRecords | undefined;
  readonly steps: readonly PlannedStep[];
  /** The record at which folding had to end; what lies behind it is folded anew (ING-538). */
  readonly end: PlanEnd | undefined;
}

export interface PlanInput {
  readonly key: Key;
  /** Cursor at the committed position. It is never changed, so it serves each attempt (ING-503…506). */
  readonly cursor: Cursor;
  readonly items: readonly BatchItem[];
  /** Position of the graph's row; null when the graph holds nothing of this key. */
  readonly appliedThrough: Position | null;
  readonly spillBytes: number;
  readonly fold: Fold;
}

/** Folds the records of a batch one after another, up to the first that cannot be folded. Pure: equal inputs give equal plans (ING-P05). */
export function planBatch(input: PlanInput): BatchPlan {
  const { key, items, appliedThrough } = input;
  let cursor = input.cursor;
  let names = { workspace: '', session: '' };
  let acceptedAt: string | undefined;
  let resent: ResentRecords | undefined;
  const steps: PlannedStep[] = [];
  let end: PlanEnd | undefined;
  for (const item of items) {
    const parsed = parseLine(item.raw, key);
    if (parsed.record === undefined) {
      const error = recordCorrupt({ key, place: item.at, reason: parsed.fault });
      end = { kind: 'corrupt', item, before: cursor, error, isDefect: false };
      break;
    }
    const { record } = parsed;
    const { workspace, session } = record;
    names = { workspace, session };
    acceptedAt ??= record.acceptedAt;
    const folded = tryFold(input, cursor, record);
    if ('error' in folded) {
      end = { kind: 'poison', item, before: cursor, ...folded };
      break;
    }
    const { at, after } = item;
    const sha256 = sha256Hex(item.raw);
    if (appliedThrough !== null && after <= appliedThrough) {
      resent = { count: (resent?.count ?? 0) + 1, after, sha256, cursor: folded.cursor };
    } else {
      const { mutations, values } = folded;
      const bytes = estimateBytes(mutations);
      const before = cursor;
      steps.push({
        at,
        after,
        sha256,
        mutations,
        cursor: folded.cursor,
        item,
        before,
        bytes,
        values,
      });
    }
    cursor = folded.cursor;
  }
  return { ...names, acceptedAt, resent, steps, end };
}

type Refused = { readonly error: MillraceError; readonly isDefect: boolean };

function tryFold(input: PlanInput, cursor: Cursor, record: LogRecord): Folded | Refused {
  try {
    const folded = input.fold(cursor, record, { spillBytes: input.spillBytes });
    checkMutations(record.session, folded.mutations);
    return folded;
  } catch (error) {
    if (isMillraceError(error) && error.disposition === 'poison') return { error, isDefect: false };
    const { event, session } = record;
    const defect = HANDLER_FAILED({ event, session, reason: messageOf(error) }, error);
    return { error: defect, isDefect: true };
  }
}
