import type { FilesystemQueue } from '#queue-backends/filesystem';
import { cursorAt, item, letterFor, numbered } from '../contract/queue/steps.ts';
import {
  edit,
  folderOf,
  readText,
  segmentPaths,
  withPlace,
  type Place,
} from '../queue-backends/filesystem/place.ts';
import { seededChance } from '../support/chance.ts';
import { testKey } from '../support/queue-fixtures.ts';
import { turn } from '../support/turn.ts';

const sessions = Array.from({ length: 50 }, (_, at) => `s${at}`);
const records = 6;
const dead = 2;
const races = 2;

/** Sessions whose first records are dead letters already, which neither their offset records nor a journal tell. */
async function leadingDead(place: Place): Promise<void> {
  const first = await place.open();
  await first.append(sessions.flatMap((session) => numbered(session, 0, records)));
  await first.close();
  const offsets = sessions.map((session) => `${folderOf(testKey(session))}/offset.json`);
  const before = await Promise.all(offsets.map((path) => readText(place.disk, path)));
  const second = await place.open();
  for (const session of sessions)
    for (let nth = 0; nth < dead; nth += 1) {
      const key = testKey(session);
      const one = item((await second.readBatch(key, { records: 1, bytes: 1e6 })).items);
      await second.deadLetter(key, [letterFor(one)], one.after, cursorAt(0));
    }
  await second.close();
  for (const [at, path] of offsets.entries())
    await edit(place.disk, path, () => Buffer.from(before[at] ?? ''));
  for (const path of await segmentPaths(place.disk)) await place.disk.unlink(path);
}

/** A worker of one session: reads and commits until nothing is left, at its own pace. */
async function work(queue: FilesystemQueue, session: string, pace: () => number): Promise<number> {
  const key = testKey(session);
  for (let applied = 0; ; applied += 1) {
    for (let turns = pace(); turns > 0; turns -= 1) await turn();
    const { items } = await queue.readBatch(key, { records: 1, bytes: 1e6 });
    const [one] = items;
    if (one === undefined) return applied;
    await queue.commit(key, one.after, cursorAt(applied + 1), null);
  }
}

/** Fifty workers beside the pass over dead letters of their keys: the first thing found wrong, or undefined. */
export async function race(): Promise<string | undefined> {
  for (let seed = 1; seed <= races; seed += 1) {
    let fault: string | undefined;
    await withPlace(async (place) => {
      await leadingDead(place);
      const queue = await place.open();
      const chance = seededChance(seed);
      const pace = (): number => Math.floor(chance.float() * 6);
      const signal = new AbortController().signal;
      const pass = async (): Promise<void> => {
        await turn();
        await Promise.all(sessions.map((session) => queue.reconcileDead(testKey(session))));
        await queue.reconcileAllDead(signal);
      };
      const ends = await Promise.all([
        ...sessions.map((session) => work(queue, session, pace)),
        pass().then(() => records - dead),
      ]).catch((error: unknown) => String(error));
      fault = typeof ends === 'string' ? ends : await faultOf(queue, ends);
    });
    if (fault !== undefined) return fault;
  }
  return undefined;
}

async function faultOf(
  queue: FilesystemQueue,
  applied: readonly number[],
): Promise<string | undefined> {
  const wrong = applied.findIndex((count) => count !== records - dead);
  if (wrong >= 0) return `session ${wrong} applied ${applied[wrong]}`;
  for (const session of sessions) {
    const status = await queue.keyStatus(testKey(session));
    if (status?.committed !== status?.end) return `${session} was set back`;
    if ((await queue.readCursor(testKey(session)))?.layer1.event_seq !== records - dead)
      return `${session} has another cursor`;
  }
  const { accepted, applied: all, dead: buried, pending } = queue.totals();
  return accepted === all + buried && pending === 0 ? undefined : 'the books do not balance';
}
