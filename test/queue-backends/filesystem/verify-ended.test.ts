import { expect, it } from 'vitest';
import { verifyQueue, type VerifyFinding } from '#queue-backends/filesystem';
import { append, drain, kill, numbered } from '../../contract/queue/steps.ts';
import { fakeClock } from '../../support/clock.ts';
import { queueDirectory } from '../../support/filesystem-queue.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { withPlace, type Place } from './place.ts';

async function verify({ disk }: Place): Promise<readonly VerifyFinding[]> {
  const found: VerifyFinding[] = [];
  await verifyQueue({
    disk,
    clock: { ...fakeClock(), sleep: () => Promise.resolve() },
    directory: queueDirectory,
    rootId: 'SR-test',
    isLive: false,
    onKey: ({ findings }) => void found.push(...findings),
    onFinding: (finding) => void found.push(finding),
    onProgress: () => undefined,
  });
  return found;
}

it('finds nothing wrong with sessions that have ended, came back or were compacted', () =>
  withPlace(async (place) => {
    const queue = await place.open();
    for (const session of ['s', 't']) {
      await append(queue, ...numbered(session, 0, 4));
      await kill(queue, session);
      await drain(queue, session, session === 's' ? 3 : 2);
    }
    await queue.lifeCycle.compactCommittedPrefix(testKey('t'), 1);
    await append(queue, ...numbered('u', 0, 3));
    await drain(queue, 'u');
    await queue.lifeCycle.compactCommittedPrefix(testKey('u'), 1);
    await queue.lifeCycle.finalize(testKey('s'));
    expect((await verify(place)).filter(({ level }) => level === 'finding')).toEqual([]);
    await append(queue, ...numbered('s', 4, 1));
    await queue.close();
    expect(await verify(place)).toEqual([]);
  }));
