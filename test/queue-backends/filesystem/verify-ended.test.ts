import { expect, it } from 'vitest';
import { append, drain, kill, numbered } from '../../contract/queue/steps.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { withPlace } from './place.ts';
import { verify } from './verified.ts';

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
    for (const isLive of [false, true])
      expect((await verify(place.disk, isLive)).codes, `live: ${isLive}`).toEqual([]);
    await append(queue, ...numbered('s', 4, 1));
    await queue.close();
    expect((await verify(place.disk)).all).toEqual([]);
  }));
