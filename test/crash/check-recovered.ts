import { expect } from 'vitest';
import type { Disk, DiskMark } from '#disk';
import { parseKey, parsePosition, type Key } from '#record';
import type { DeadLetterRecord } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { queueDirectory } from '../support/filesystem-queue.ts';
import { testKey, testRecord } from '../support/queue-fixtures.ts';
import { wordLabel, type Placed, type Request, type Word } from './history.ts';

/** A line of a session log, read without the help of the backend. */
interface LogLine {
  readonly n: number;
  readonly offset: number;
  readonly end: number;
  readonly eventId: string | undefined;
}

/** What a queue must keep of a history after any crash: P1 to P4, and the atomicity of requests. */
export async function checkRecovered(
  queue: FilesystemQueue,
  disk: Disk,
  marks: readonly DiskMark[],
): Promise<void> {
  const words = marks
    .filter(({ label }) => label === wordLabel)
    .map(({ detail }) => detail as Word);
  const logs = await readLogs(disk);
  checkAcknowledged(words, logs);
  checkWholeOrGone(words, logs);
  checkPositions(logs);
  for (const [key, lines] of logs) await checkKey(queue, key, lines, words);
  checkBooks(queue);
  await checkGoesOn(queue, words, logs);
}

async function readLogs(disk: Disk): Promise<ReadonlyMap<Key, readonly LogLine[]>> {
  const logs = new Map<Key, readonly LogLine[]>();
  const sessions = `${queueDirectory}/sessions`;
  for (const shard of await disk.readDirectory(sessions))
    for (const { name } of await disk.readDirectory(`${sessions}/${shard.name}`)) {
      const key = parseKey(name);
      if (key === undefined) throw new Error(`${name} is no key`);
      const path = `${sessions}/${shard.name}/${name}/log.000000.jsonl`;
      logs.set(key, linesOf((await disk.readFile(path)) ?? new Uint8Array(0)));
    }
  return logs;
}

function linesOf(bytes: Uint8Array): readonly LogLine[] {
  const lines: LogLine[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0x0a, at) + 1;
    if (end === 0) throw new Error(`a log ends inside a line at ${at}`);
    const line = JSON.parse(Buffer.from(bytes.subarray(at, end)).toString('utf8')) as {
      readonly id?: string;
      readonly data: { readonly n: number };
    };
    lines.push({ n: line.data.n, offset: at, end, eventId: line.id });
    at = end;
  }
  return lines;
}

function ofKind<K extends Word['kind']>(
  words: readonly Word[],
  kind: K,
): readonly Extract<Word, { kind: K }>[] {
  return words.filter((word): word is Extract<Word, { kind: K }> => word.kind === kind);
}

/** P1: what was acknowledged is in its log, at the position that was told. */
function checkAcknowledged(
  words: readonly Word[],
  logs: ReadonlyMap<Key, readonly LogLine[]>,
): void {
  const missing = ofKind(words, 'append-acked')
    .flatMap(({ placed }) => placed)
    .filter(({ n, session, position }: Placed) => {
      const offset = parsePosition(position)?.offset;
      return !logs.get(testKey(session))?.some((line) => line.n === n && line.offset === offset);
    });
  expect(missing, 'acknowledged records that are missing').toEqual([]);
}

/** A request that was not acknowledged is there with all of its records or with none (ING-113). */
function checkWholeOrGone(
  words: readonly Word[],
  logs: ReadonlyMap<Key, readonly LogLine[]>,
): void {
  const isThere = (request: Request): readonly boolean[] =>
    request.sent.map(
      ({ n, session }) => logs.get(testKey(session))?.some((line) => line.n === n) === true,
    );
  for (const { request } of ofKind(words, 'append-began')) {
    const found = new Set(isThere(request));
    expect(found.size, `records of one request: ${JSON.stringify(request.sent)}`).toBe(1);
  }
}

/** P2: each record stands once. */
function checkPositions(logs: ReadonlyMap<Key, readonly LogLine[]>): void {
  const all = [...logs.values()].flatMap((lines) => lines.map(({ n }) => n));
  expect(all.length, 'records stand once').toBe(new Set(all).size);
}

/** P3: offset, cursor and letters are of one commit, neither before the last acknowledged nor beyond the last begun. */
async function checkKey(
  queue: FilesystemQueue,
  key: Key,
  lines: readonly LogLine[],
  words: readonly Word[],
): Promise<void> {
  const status = await queue.keyStatus(key);
  if (status === undefined) throw new Error(`${key} has a folder and is not known`);
  expect(status.quarantine).toBeNull();
  const committed = parsePosition(status.committed)?.offset ?? -1;
  const passed = lines.filter(({ end }) => end <= committed);
  expect(passed.at(-1)?.end ?? 0, `${key} is committed to the end of a record`).toBe(committed);
  expect(parsePosition(status.end)?.offset).toBe(lines.at(-1)?.end ?? 0);
  const letters = await queue.readDeadLetters(key);
  expect(new Set(letters.map(({ id }) => id)).size, 'letters stand once').toBe(letters.length);
  for (const letter of letters) expect(letter.after <= status.committed).toBe(true);
  const cursor = await queue.readCursor(key);
  const applied = passed.length - letters.length;
  expect(cursor?.layer1.event_seq ?? 0, `cursor of ${key}`).toBe(applied);
  const acked = ofKind(words, 'commit-acked').filter((word) => word.key === key);
  const begun = ofKind(words, 'commit-began').filter((word) => word.key === key);
  for (const { after } of acked) expect(after <= status.committed, 'commit kept').toBe(true);
  expect(committed === 0 || begun.some(({ after }) => after === status.committed)).toBe(true);
  expect(status.pending).toBe(lines.length - passed.length);
  expect(status.accepted).toBe(status.applied + status.pending + status.dead + status.discarded);
  checkLetters(letters, status);
}

function checkLetters(
  letters: readonly DeadLetterRecord[],
  status: { readonly dead: number; readonly discarded: number },
): void {
  const count = (kind: string): number =>
    letters.filter(({ outcome }) => outcome.kind === kind).length;
  expect(count('live'), 'live letters').toBe(status.dead);
  expect(count('discarded'), 'discarded letters').toBe(status.discarded);
}

/** P4: the residual is 0. */
function checkBooks(queue: FilesystemQueue): void {
  const totals = queue.totals();
  const { accepted, applied, pending, dead, discarded } = totals;
  expect(accepted - applied - pending - dead - discarded, JSON.stringify(totals)).toBe(0);
  expect(queue.trouble()).toEqual([]);
  expect(totals.quarantinedKeys).toBe(0);
}

/** Ids are known, new records come behind all others, and everything that waits can be read. */
async function checkGoesOn(
  queue: FilesystemQueue,
  words: readonly Word[],
  logs: ReadonlyMap<Key, readonly LogLine[]>,
): Promise<void> {
  const letters = new Map<Key, readonly DeadLetterRecord[]>();
  for (const key of logs.keys()) letters.set(key, await queue.readDeadLetters(key));
  for (const { sent } of ofKind(words, 'append-began').map(({ request }) => request))
    for (const { n, session, eventId, settles } of sent) {
      if (eventId === undefined || settles !== undefined) continue;
      const line = logs.get(testKey(session))?.find((one) => one.n === n);
      const isDead = letters
        .get(testKey(session))
        ?.some(({ at }) => parsePosition(at)?.offset === line?.offset);
      if (line === undefined || isDead === true) continue;
      const [outcome] = await queue.append([
        testRecord({ session, eventId, data: dataOf(sent, n) }),
      ]);
      expect(outcome?.status, `event ${eventId} of ${session} sent again`).toBe('duplicate');
    }
  for (const [key, lines] of logs) {
    const session = key.slice(key.indexOf('~') + 1);
    const [outcome] = await queue.append([testRecord({ session, data: { n: -1 } })]);
    const position = outcome !== undefined && 'position' in outcome ? outcome.position : undefined;
    expect(parsePosition(position ?? '')?.offset).toBe(lines.at(-1)?.end ?? 0);
    const { items } = await queue.readBatch(key, { records: 1000, bytes: 2 ** 24 });
    const read = items.map(({ raw }) => JSON.parse(Buffer.from(raw).toString('utf8')) as LineData);
    const status = await queue.keyStatus(key);
    const committed = parsePosition(status?.committed ?? '')?.offset ?? 0;
    const waiting = lines.filter(({ offset }) => offset >= committed).map(({ n }) => n);
    expect(read.map(({ data }) => data.n)).toEqual([...waiting, -1]);
  }
  checkBooks(queue);
}

interface LineData {
  readonly data: { readonly n: number };
}

function dataOf(sent: Request['sent'], n: number): Readonly<Record<string, unknown>> {
  const padding = sent.find((one) => one.n === n)?.padding ?? 0;
  return { n, padding: 'x'.repeat(padding) };
}
