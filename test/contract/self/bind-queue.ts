import type { Queue } from '../../support/queue-fixtures.ts';

/** The members of a queue as those of a plain object, so that one of them can be replaced. */
export function bindQueue(queue: Queue): Queue {
  return {
    protocolVersion: queue.protocolVersion,
    capabilities: queue.capabilities,
    append: (records, options) => queue.append(records, options),
    readBatch: (key, max) => queue.readBatch(key, max),
    commit: (key, after, cursor, applied) => queue.commit(key, after, cursor, applied),
    readCursor: (key) => queue.readCursor(key),
    deadLetter: (key, letters, after, cursor) => queue.deadLetter(key, letters, after, cursor),
    readDeadLetters: (key) => queue.readDeadLetters(key),
    activeKeys: () => queue.activeKeys(),
    close: () => queue.close(),
    totals: () => queue.totals(),
    keyStatus: (key) => queue.keyStatus(key),
    listKeys: (page) => queue.listKeys(page),
    digestEndingAt: (key, after) => queue.digestEndingAt(key, after),
    quarantine: (key, fault) => queue.quarantine(key, fault),
    trouble: () => queue.trouble(),
  };
}
