import { deepStrictEqual, ok } from 'node:assert/strict';
import { systemClock } from '#base';
import { seededChance } from '../../support/chance.ts';
import { testKey, testRecord, type Queue } from '../../support/queue-fixtures.ts';
import type { QueueCheck } from './harness.ts';
import { assertBooks, cursorAt, letterFor, readAll } from './steps.ts';

const sessions = ['a', 'b', 'c', 'd'];

/** Sends its own numbered events into all sessions, in random groups, some of them twice. */
async function send(
  queue: Queue,
  client: number,
  count: number,
  float: () => number,
): Promise<void> {
  for (let n = 0; n < count;) {
    const size = 1 + Math.floor(float() * 4);
    const group = Array.from({ length: size }, (_, at) =>
      testRecord({
        session: sessions[(n + at) % sessions.length] ?? 'a',
        eventId: `${client}-${n + at}`,
        data: { client, n: n + at },
      }),
    );
    await queue.append(float() < 0.5 ? group : group.toReversed());
    // One that is dead by now would be taken again, as its requeue (ING-515).
    if (float() < 0.2)
      await queue.append(group.filter(({ eventId }) => eventId?.endsWith('7') === false));
    n += size;
  }
}

interface Folded {
  readonly ids: string[];
  readonly dead: string[];
}

/** Drains one session as a worker does, until told to stop and nothing is left; every tenth record is poison. */
async function work(queue: Queue, session: string, isDone: () => boolean): Promise<Folded> {
  const folded: Folded = { ids: [], dead: [] };
  const key = testKey(session);
  for (;;) {
    const wasDone = isDone();
    const batch = await queue.readBatch(key, { records: 5, bytes: 2 ** 20 });
    const last = batch.items.at(-1);
    if (last === undefined) {
      if (wasDone) return folded;
      // As a worker that has nothing to do: others get the loop.
      await systemClock.endOfTurn();
      continue;
    }
    const idOf = (raw: Uint8Array): string =>
      JSON.parse(Buffer.from(raw).toString('utf8')).id as string;
    const letters = batch.items.filter(({ raw }) => idOf(raw).endsWith('7'));
    folded.ids.push(...batch.items.map(({ raw }) => idOf(raw)));
    folded.dead.push(...letters.map(({ raw }) => idOf(raw)));
    const cursor = cursorAt(folded.ids.length);
    if (letters.length === 0) await queue.commit(key, last.after, cursor, null);
    else
      await queue.deadLetter(
        key,
        letters.map((one) => letterFor(one)),
        last.after,
        cursor,
      );
  }
}

export const concurrencyChecks: readonly QueueCheck[] = [
  {
    name: 'gives every event of many clients to the worker of its key exactly once, beside resends and requests over several keys (P2, P4, ING-T38)',
    async run(harness) {
      const queue = await harness.open();
      let isDone = false;
      const workers = sessions.map((session) => work(queue, session, () => isDone));
      const clients = Array.from({ length: 6 }, (_, client) =>
        send(queue, client, 40, seededChance(client + 1).float),
      );
      await Promise.all(clients);
      isDone = true;
      const folded = await Promise.all(workers);
      const ids = folded.flatMap((one) => one.ids);
      deepStrictEqual(ids.length, new Set(ids).size, 'no event twice');
      ok(ids.length >= 240, `${ids.length} events`);
      const { accepted, dead } = queue.totals();
      deepStrictEqual([accepted, dead], [ids.length, folded.flatMap((one) => one.dead).length]);
      await assertBooks(queue, { pending: 0 });
      for (const session of sessions)
        deepStrictEqual((await readAll(queue, session)).items, [], `${session} is drained`);
    },
  },
];
