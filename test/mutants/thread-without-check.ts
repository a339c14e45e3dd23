import { parentPort } from 'node:worker_threads';
import { isMillraceError } from '#base';
import { assertOwnerThread } from '#queue';

/** Defect (ING-T20), when started with `unchecked`: another thread opens the queue as if it were its own. */
const check = process.argv.includes('unchecked') ? (): void => undefined : assertOwnerThread;

function outcome(): string {
  try {
    check();
    return 'opened';
  } catch (error) {
    return isMillraceError(error) ? error.code : String(error);
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a worker thread, not a window
parentPort?.postMessage(outcome());
