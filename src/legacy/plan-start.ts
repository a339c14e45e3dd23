import type { LegacyOffset } from './import-report.ts';

/** What is known of a session's offset file and log before a line is read. Sizes and offsets in bytes. */
export interface StartFacts {
  /** Undefined without an offset file. */
  readonly offset: LegacyOffset | undefined;
  readonly logBytes: number;
  /** The byte before the offset is a line break, or the offset is 0. */
  readonly isAligned: boolean;
  /** An in-place compaction was begun (C17). */
  readonly hasIntent: boolean;
}

export interface StartPlan {
  /** The machine-readable reason (ING-822). */
  readonly reason:
    | 'offset_sound'
    | 'offset_missing'
    | 'offset_misaligned'
    | 'offset_beyond_log'
    | 'offset_unreadable'
    | 'offset_unsupported'
    | 'compaction_interrupted';
  readonly message: string;
  /** Where the predecessor had come to; undefined where nobody can say. */
  readonly handledTo: number | undefined;
}

/** How far the predecessor had come (ING-213…218, ING-822, C17, C18, U2…U5): told, never guessed. Pure. */
export function planStart({ offset, logBytes, isAligned, hasIntent }: StartFacts): StartPlan {
  if (offset === undefined)
    return {
      reason: 'offset_missing',
      message: 'no offset file: nothing was committed',
      handledTo: 0,
    };
  if (offset.kind === 'corrupt')
    return { reason: 'offset_unreadable', message: offset.reason, handledTo: undefined };
  if (offset.kind === 'unsupported') {
    const message = `it asks for a reader of version ${offset.minReader}`;
    return { reason: 'offset_unsupported', message, handledTo: undefined };
  }
  const at = offset.offset;
  if (at > logBytes && hasIntent) {
    const message = `a compaction in place was interrupted: the log of ${logBytes} bytes begins at the committed position`;
    return { reason: 'compaction_interrupted', message, handledTo: 0 };
  }
  if (at > logBytes) {
    const message = `offset ${at} lies behind the end ${logBytes} of the log`;
    return { reason: 'offset_beyond_log', message, handledTo: undefined };
  }
  if (!isAligned) {
    const message = `offset ${at} lies inside a record: the next one counts as the first that waits`;
    return { reason: 'offset_misaligned', message, handledTo: at };
  }
  return {
    reason: 'offset_sound',
    message: `committed up to byte ${at} of ${logBytes}`,
    handledTo: at,
  };
}
