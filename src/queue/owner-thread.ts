import { isMainThread, threadId } from 'node:worker_threads';
import { notOwnerThread } from './errors.ts';

/** The thread that node starts with; every other one has a lock table of its own. */
const mainThread = 0;

/**
 * Another thread has another heap and so another lock table over the same bytes (ING-308): a backend that keeps files opens on the main
 * thread alone, and other threads go through a port of it. NOT_OWNER_THREAD elsewhere.
 */
export function assertOwnerThread(): void {
  if (!isMainThread) throw notOwnerThread({ thread: threadId, owner: mainThread });
}
