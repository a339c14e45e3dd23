import { messageOf } from '#base';

/** The package says no more in time; a disk without room is what it nearly always is. */
const wordsUntold = 'its disk refused a commit';

/**
 * Why a commit of LMDB failed. The package says it in a second promise on the error, which MUST be caught: left alone it ends the process.
 * It is mostly rejected in the same turn as the write.
 */
export async function commitFailureOf(error: unknown): Promise<string> {
  const details = error instanceof Error && 'commitError' in error ? error.commitError : undefined;
  if (!(details instanceof Promise)) return messageOf(error);
  return Promise.race([rejectionOf(details), afterTurns(wordsUntold)]);
}

async function rejectionOf(details: Promise<unknown>): Promise<string> {
  try {
    await details;
    return 'no reason given';
  } catch (reason) {
    return messageOf(reason);
  }
}

/** Three turns of the microtask queue: more than a rejection that is already there takes. */
async function afterTurns<T>(value: T): Promise<T> {
  for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
  return value;
}
