import type { Disk, DiskMark } from '#disk';
import type { DeadLetterRecord } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { parsePosition, type Key } from '#record';
import { demand, demandEqual } from './demand.ts';
import { wordLabel, type Placed, type Request, type Word } from './history.ts';
import { readLogs, type LogLine, type Logs } from './log-lines.ts';
import { labKey, labRecord } from './records.ts';

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

function ofKind<K extends Word['kind']>(
  words: readonly Word[],
  kind: K,
): readonly Extract<Word, { kind: K }>[] {
  return words.filter((word): word is Extract<Word, { kind: K }> => word.kind === kind);
}

/** P1: what was acknowledged is in its log, at the position that was told. */
function checkAcknowledged(words: readonly Word[], logs: Logs): void {
  const missing = ofKind(words, 'append-acked')
    .flatMap(({ placed }) => placed)
    .filter(({ n, session, position }: Placed) => {
      const offset = parsePosition(position)?.offset;
      return !logs.get(labKey(session))?.some((line) => line.n === n && line.offset === offset);
    });
  demandEqual(missing, [], 'no acknowledged record is missing');
}

/** A request that was not acknowledged is there with all of its records or with none (ING-113). */
function checkWholeOrGone(words: readonly Word[], logs: Logs): void {
  const isThere = (request: Request): readonly boolean[] =>
    request.sent.map(
      ({ n, session }) => logs.get(labKey(session))?.some((line) => line.n === n) === true,
    );
  for (const { request } of ofKind(words, 'append-began')) {
    const found = new Set(isThere(request));
    demand(found.size === 1, 'a request is kept as a whole or not at all', request.sent);
  }
}

/** P2: each record stands once. */
function checkPositions(logs: Logs): void {
  const all = [...logs.values()].flatMap((lines) => lines.map(({ n }) => n));
  demandEqual(all.length, new Set(all).size, 'records stand once');
}

/** P3: offset, cursor and letters are of one commit, neither before the last acknowledged nor beyond the last begun. */
async function checkKey(
  queue: FilesystemQueue,
  key: Key,
  lines: readonly LogLine[],
  words: readonly Word[],
): Promise<void> {
  const status = await queue.keyStatus(key);
  demand(status !== undefined, 'a key with a folder is known', key);
  demandEqual(status.quarantine, null, 'a crash quarantines no key');
  const committed = parsePosition(status.committed)?.offset ?? -1;
  const passed = lines.filter(({ end }) => end <= committed);
  demandEqual(passed.at(-1)?.end ?? 0, committed, `${key} is committed to the end of a record`);
  demandEqual(
    parsePosition(status.end)?.offset,
    lines.at(-1)?.end ?? 0,
    `${key} ends where its log does`,
  );
  const letters = await queue.readDeadLetters(key);
  demandEqual(new Set(letters.map(({ id }) => id)).size, letters.length, 'letters stand once');
  for (const { after } of letters)
    demand(after <= status.committed, 'a letter stands with its commit', after);
  const cursor = await queue.readCursor(key);
  const applied = passed.length - letters.length;
  demandEqual(cursor?.layer1.event_seq ?? 0, applied, `the cursor of ${key} is of its position`);
  const acked = ofKind(words, 'commit-acked').filter((word) => word.key === key);
  const begun = ofKind(words, 'commit-began').filter((word) => word.key === key);
  for (const { after } of acked)
    demand(after <= status.committed, 'an acknowledged commit is kept', after);
  demand(
    committed === 0 || begun.some(({ after }) => after === status.committed),
    `${key} is committed to where a commit was begun`,
    status.committed,
  );
  demandEqual(status.pending, lines.length - passed.length, `the pending records of ${key}`);
  const { applied: counted, pending, dead, discarded } = status;
  demandEqual(status.accepted, counted + pending + dead + discarded, `the books of ${key} balance`);
  checkLetters(letters, status);
}

function checkLetters(
  letters: readonly DeadLetterRecord[],
  status: { readonly dead: number; readonly discarded: number },
): void {
  const count = (kind: string): number =>
    letters.filter(({ outcome }) => outcome.kind === kind).length;
  demandEqual(count('live'), status.dead, 'live letters are counted as dead');
  demandEqual(count('discarded'), status.discarded, 'discarded letters are counted');
}

/** P4: the residual is 0. */
function checkBooks(queue: FilesystemQueue): void {
  const totals = queue.totals();
  const { accepted, applied, pending, dead, discarded } = totals;
  demand(accepted === applied + pending + dead + discarded, 'the residual is 0', totals);
  demandEqual(queue.trouble(), [], 'a queue that has recovered has no trouble');
  demandEqual(totals.quarantinedKeys, 0, 'a crash quarantines no key');
}

/** Ids are known, new records come behind all others, and everything that waits can be read. */
async function checkGoesOn(
  queue: FilesystemQueue,
  words: readonly Word[],
  logs: Logs,
): Promise<void> {
  const letters = new Map<Key, readonly DeadLetterRecord[]>();
  for (const key of logs.keys()) letters.set(key, await queue.readDeadLetters(key));
  for (const { sent } of ofKind(words, 'append-began').map(({ request }) => request))
    for (const { n, session, eventId, settles } of sent) {
      if (eventId === undefined || settles !== undefined) continue;
      const line = logs.get(labKey(session))?.find((one) => one.n === n);
      const isDead = letters
        .get(labKey(session))
        ?.some(({ at }) => parsePosition(at)?.offset === line?.offset);
      if (line === undefined || isDead === true) continue;
      const [outcome] = await queue.append([
        labRecord({ session, eventId, data: dataOf(sent, n) }),
      ]);
      demandEqual(
        outcome?.status,
        'duplicate',
        `event ${eventId} of ${session} is known when it is sent again`,
      );
    }
  for (const [key, lines] of logs) {
    const session = key.slice(key.indexOf('~') + 1);
    const [outcome] = await queue.append([labRecord({ session, data: { n: -1 } })]);
    const position = outcome !== undefined && 'position' in outcome ? outcome.position : undefined;
    demandEqual(
      parsePosition(position ?? '')?.offset,
      lines.at(-1)?.end ?? 0,
      'a new record comes behind all others',
    );
    const { items } = await queue.readBatch(key, { records: 1000, bytes: 2 ** 24 });
    const read = items.map(({ raw }) => JSON.parse(Buffer.from(raw).toString('utf8')) as LineData);
    const status = await queue.keyStatus(key);
    const committed = parsePosition(status?.committed ?? '')?.offset ?? 0;
    const waiting = lines.filter(({ offset }) => offset >= committed).map(({ n }) => n);
    demandEqual(
      read.map(({ data }) => data.n),
      [...waiting, -1],
      'what waits can be read, in order',
    );
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
