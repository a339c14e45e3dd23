import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { assertOwnerThread } from '#queue';

/** What a worker thread says of its attempt to open a queue. */
async function tryFromThread(...argv: string[]): Promise<unknown> {
  const worker = new Worker(new URL('../mutants/thread-without-check.ts', import.meta.url), {
    argv,
  });
  try {
    const [answer] = (await once(worker, 'message')) as [unknown];
    return answer;
  } finally {
    await worker.terminate();
  }
}

describe('owner thread', () => {
  it('lets the main thread open a queue and no other (ING-308, ING-T20)', async () => {
    expect(() => assertOwnerThread()).not.toThrow();
    expect(await tryFromThread()).toBe('NOT_OWNER_THREAD');
  });

  it('turns red without the check (ING-T00)', async () => {
    expect(await tryFromThread('unchecked')).toBe('opened');
  });
});
