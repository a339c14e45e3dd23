import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { DiskMark } from '#disk';
import type { KeyStatus } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import type { Key, Position } from '#record';
import { cursorAt, wordLabel, type Placed, type Sent, type Word } from '../../src/lab/history.ts';
import { labKey, labRecord } from '../../src/lab/records.ts';

type Acked = Placed & Sent;

/**
 * What a queue keeps of sessions that end, come back and are compacted, after any crash (P1 to P4, D27): asked of the queue alone, since the
 * logs may be gone. It then goes on: ends every session, and looks again.
 */
export async function checkEndings(
  queue: FilesystemQueue,
  marks: readonly DiskMark[],
): Promise<void> {
  const words = marks
    .filter(({ label }) => label === wordLabel)
    .map(({ detail }) => detail as Word);
  const acked = ackedIn(words);
  const sessions = await knownSessions(queue, words);
  checkBooks(queue);
  for (const session of sessions) await checkSession(queue, session, words, acked);
  for (const session of sessions) await checkIds(queue, session, acked);
  for (const session of sessions) await checkNext(queue, session, acked);
  for (const session of sessions) await endAll(queue, session);
  checkBooks(queue);
  strictEqual(queue.totals().pending, 0);
  deepStrictEqual(await queue.activeKeys(), []);
}

function ackedIn(words: readonly Word[]): readonly Acked[] {
  return words.flatMap((word) =>
    word.kind === 'append-acked'
      ? word.placed.map((placed) => {
          const sent = word.request.sent.find(({ n }) => n === placed.n);
          ok(sent !== undefined);
          return { ...sent, ...placed };
        })
      : [],
  );
}

/** Those that were acknowledged, and those that came without an answer. */
async function knownSessions(
  queue: FilesystemQueue,
  words: readonly Word[],
): Promise<readonly string[]> {
  const sent = words.flatMap((word) => (word.kind === 'append-began' ? word.request.sent : []));
  const acked = new Set(ackedIn(words).map(({ session }) => session));
  const known: string[] = [];
  for (const session of new Set(sent.map((one) => one.session)))
    if (acked.has(session) || (await queue.keyStatus(labKey(session))) !== undefined)
      known.push(session);
  return known;
}

function checkBooks(queue: FilesystemQueue): void {
  const { accepted, applied, pending, dead, discarded, quarantinedKeys } = queue.totals();
  strictEqual(accepted, applied + pending + dead + discarded, 'the residual is 0');
  strictEqual(quarantinedKeys, 0, 'a crash quarantines no key');
  deepStrictEqual(queue.trouble(), []);
}

async function statusOf(queue: FilesystemQueue, key: Key): Promise<KeyStatus> {
  const status = await queue.keyStatus(key);
  ok(status !== undefined, `${key} is known`);
  return status;
}

async function checkSession(
  queue: FilesystemQueue,
  session: string,
  words: readonly Word[],
  acked: readonly Acked[],
): Promise<void> {
  const key = labKey(session);
  const status = await statusOf(queue, key);
  const { accepted, applied, pending, dead, discarded } = status;
  strictEqual(accepted, applied + pending + dead + discarded, `the books of ${session} balance`);
  const cursor = await queue.readCursor(key);
  strictEqual(cursor?.layer1.event_seq ?? 0, applied, `the counters of ${session} go on`);
  for (const word of words)
    if (word.kind === 'commit-acked' && word.key === key)
      ok(word.after <= status.committed, `${session} stays committed to ${word.after}`);
  const read = await numbersIn(queue, key);
  const waiting = acked
    .filter((one) => one.session === session && one.position >= status.committed)
    .map(({ n }) => n);
  deepStrictEqual(
    read.filter((n) => waiting.includes(n)),
    waiting,
    `what waits of ${session} is there, in order`,
  );
  strictEqual(read.length, pending);
  const letters = await queue.readDeadLetters(key);
  strictEqual(new Set(letters.map(({ id }) => id)).size, letters.length, 'letters stand once');
  for (const word of words)
    if (word.kind === 'buried' && word.key === key)
      ok(
        letters.some(({ at }) => at === word.at),
        `the letter at ${word.at} of ${session} is kept`,
      );
  const count = (kind: string): number =>
    letters.filter(({ outcome }) => outcome.kind === kind).length;
  deepStrictEqual([count('live'), count('discarded')], [dead, discarded]);
}

async function numbersIn(queue: FilesystemQueue, key: Key): Promise<readonly number[]> {
  const { items } = await queue.readBatch(key, { records: 1000, bytes: 2 ** 24 });
  return items.map(({ raw }) => {
    const line = JSON.parse(Buffer.from(raw).toString('utf8')) as { data: { n: number } };
    return line.data.n;
  });
}

/** An id is known wherever its record is gone to, with its place and what it stands for (ING-512, ING-517). */
async function checkIds(
  queue: FilesystemQueue,
  session: string,
  acked: readonly Acked[],
): Promise<void> {
  const letters = await queue.readDeadLetters(labKey(session));
  const dead = new Map<string | undefined, Position>(
    letters.map(({ eventId, at }) => [eventId, at]),
  );
  const settled = acked.filter((one) => one.settles !== undefined).map(({ eventId }) => eventId);
  for (const { eventId, n, padding = 0, position, ...one } of acked) {
    if (one.session !== session || eventId === undefined || settled.includes(eventId)) continue;
    if (dead.get(eventId) === position) continue;
    const data = { n, padding: 'x'.repeat(padding) };
    const [same] = await queue.append([labRecord({ session, eventId, data })]);
    deepStrictEqual(
      [same?.status, same !== undefined && 'position' in same ? same.position : null],
      ['duplicate', position],
      `event ${eventId} of ${session} is known`,
    );
    const [other] = await queue.append([labRecord({ session, eventId, data: { n: -1 } })]);
    strictEqual(other?.status, 'conflict', `event ${eventId} of ${session} stands for its content`);
  }
}

async function checkNext(
  queue: FilesystemQueue,
  session: string,
  acked: readonly Acked[],
): Promise<void> {
  const [outcome] = await queue.append([labRecord({ session, data: { n: -2 } })]);
  ok(outcome?.status === 'queued');
  for (const one of acked)
    if (one.session === session)
      ok(one.position < outcome.position, `a new record of ${session} comes behind all others`);
}

async function endAll(queue: FilesystemQueue, session: string): Promise<void> {
  const key = labKey(session);
  const { items } = await queue.readBatch(key, { records: 1000, bytes: 2 ** 24 });
  const last = items.at(-1);
  ok(last !== undefined);
  const { applied } = await statusOf(queue, key);
  const cursor = { ...cursorAt(applied + items.length), terminal_seen: true };
  await queue.commit(key, last.after, cursor, null);
  strictEqual(await queue.lifeCycle.finalize(key), 'done');
  const { isFinalised, committed, pending } = await statusOf(queue, key);
  deepStrictEqual([isFinalised, committed, pending], [true, last.after, 0]);
  strictEqual((await queue.readCursor(key))?.layer1.event_seq, applied + items.length);
}
