import { messageOf } from '#base';

/** The package says no more in time; a disk without room is what it nearly always is. */
const wordsUntold = 'its disk refused a commit';

export interface CommitFailure {
  readonly reason: string;
  /** What carries the platform's number of the fault, if anything does. */
  readonly cause: unknown;
}

/**
 * Why a commit of LMDB failed. The package says it in a second promise on the error, which MUST be caught: left alone it ends the process.
 * It is mostly rejected in the same turn as the write.
 */
export async function commitFailureOf(error: unknown): Promise<CommitFailure> {
  const details = error instanceof Error && 'commitError' in error ? error.commitError : undefined;
  if (!(details instanceof Promise)) return { reason: messageOf(error), cause: error };
  const untold: CommitFailure = { reason: wordsUntold, cause: error };
  return Promise.race([rejectionOf(details, untold), afterTurns(untold)]);
}

async function rejectionOf(
  details: Promise<unknown>,
  untold: CommitFailure,
): Promise<CommitFailure> {
  try {
    await details;
    return untold;
  } catch (cause) {
    return { reason: messageOf(cause), cause };
  }
}

/** Three turns of the microtask queue: more than a rejection that is already there takes. */
async function afterTurns<T>(value: T): Promise<T> {
  for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
  return value;
}
