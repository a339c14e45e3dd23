import { afterEach, describe, expect, it } from 'vitest';
import { createDeadLetters, type DeadLetters } from '#dead-letters';
import { positionRegression } from '#queue';
import {
  contradiction,
  note,
  notes,
  openDrain,
  type DrainFixture,
} from '../drain/drain-fixture.ts';
import { testKey, testRecord } from '../support/queue-fixtures.ts';

const open: DrainFixture[] = [];
const actor = { principal: 'operator' };

interface Desk {
  readonly fixture: DrainFixture;
  readonly letters: DeadLetters;
}

function openDesk(options: Parameters<typeof openDrain>[0] = {}): Desk {
  const fixture = openDrain(options);
  open.push(fixture);
  const letters = createDeadLetters({
    queue: fixture.queue,
    ledger: fixture.queue,
    wake: (key) => fixture.drain.wake(key),
  });
  return { fixture, letters };
}

/** Sessions with a poison record each, drained. */
async function withDead(...sessions: readonly string[]): Promise<Desk> {
  const desk = openDesk();
  for (const session of sessions)
    await desk.fixture.post(note(session, 0), contradiction(session, 1), note(session, 2));
  await desk.fixture.drained();
  return desk;
}

async function onlyId({ letters }: Desk): Promise<string> {
  const [letter] = (await letters.list({}, { limit: 10 })).letters;
  return letter?.id ?? '';
}

afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close();
});

describe('listing', () => {
  it('pages through the letters of all keys, each once, oldest first within a key', async () => {
    const desk = openDesk();
    for (const session of ['a', 'b', 'c'])
      await desk.fixture.post(...[0, 1, 2, 3].map((at) => contradiction(session, at)));
    await desk.fixture.post(...notes('healthy', 3));
    await desk.fixture.drained();
    const seen: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await desk.letters.list(
        {},
        { limit: 5, ...(pageToken === undefined ? {} : { pageToken }) },
      );
      expect(page.letters.length).toBeLessThanOrEqual(5);
      seen.push(...page.letters.map(({ key, at }) => `${key} ${at}`));
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    expect(seen).toHaveLength(12);
    expect(seen).toEqual([...new Set(seen)].toSorted());
  });

  it('filters by session, workspace, code, event and time, and shows nothing of foreign workspaces', async () => {
    const desk = await withDead('a', 'b');
    const count = async (filter: Parameters<DeadLetters['list']>[0]): Promise<number> =>
      (await desk.letters.list(filter, { limit: 10 })).letters.length;
    expect(await count({})).toBe(2);
    expect(await count({ session: 'a' })).toBe(1);
    expect(await count({ key: testKey('b') })).toBe(1);
    expect(await count({ workspace: 'another' })).toBe(0);
    expect(await count({ code: 'EVENT_CONTRADICTS' })).toBe(2);
    expect(await count({ code: 'HANDLER_FAILED' })).toBe(0);
    expect(await count({ event: 'session:fork' })).toBe(2);
    expect(await count({ event: 'custom:note' })).toBe(0);
    expect(await count({ since: '2999-01-01T00:00:00Z' })).toBe(0);
    expect(await count({ visibleWorkspaces: ['another'] })).toBe(0);
    expect(await count({ visibleWorkspaces: ['w'] })).toBe(2);
  });

  it('takes any text for a page token without an error, and shows what lies behind it', async () => {
    const { letters } = await withDead('a');
    const count = async (pageToken: string): Promise<number> =>
      (await letters.list({}, { limit: 10, pageToken })).letters.length;
    expect(await count('!')).toBe(1);
    expect(await count(`${testKey('a')}:0`)).toBe(1);
    expect(await count(testKey('a'))).toBe(0);
    expect(await count('~~~:x')).toBe(0);
  });

  it('shows one letter whole, and nothing for an id that is none', async () => {
    const desk = await withDead('a');
    const letter = await desk.letters.show(await onlyId(desk));
    expect(letter).toMatchObject({ workspace: 'w', session: 'a', event: 'session:fork' });
    expect(Buffer.from(letter?.payload ?? []).toString()).toContain('"parent":"a"');
    for (const id of ['', 'a', `${testKey('a')}:e.9`, 'w~none:e.0', '../x:y'])
      expect(await desk.letters.show(id)).toBeUndefined();
  });
});

describe('requeue', () => {
  it('appends the payload as a new record in the name of its sender; record and outcome are one step (ING-714, P4)', async () => {
    let isMended = false;
    const desk = openDesk({
      fold: (cursor, record) => {
        if (record.event === 'broken' && !isMended) throw new TypeError('a bug');
        return { cursor, mutations: [], values: [] };
      },
    });
    const { fixture, letters } = desk;
    await fixture.post(note('a', 0), note('a', 1, {}, 'broken'), note('a', 2));
    await fixture.drained();
    const id = await onlyId(desk);
    isMended = true;
    const result = await letters.requeue(id);
    expect(result).toMatchObject({ id, status: 'queued', key: testKey('a') });
    await fixture.drained();
    expect(fixture.queue.totals()).toMatchObject({ accepted: 3, applied: 3, dead: 0, pending: 0 });
    expect(await letters.show(id)).toMatchObject({ outcome: { kind: 'requeued' } });
    expect(await letters.list({}, { limit: 10 })).toEqual({ letters: [] });
    expect((await letters.list({ withRetired: true }, { limit: 10 })).letters).toHaveLength(1);
  });

  it('refuses a letter that has its outcome, and one that is not there (DEAD_LETTER_STATE)', async () => {
    const desk = await withDead('a');
    const id = await onlyId(desk);
    await desk.letters.requeue(id);
    await expect(desk.letters.requeue(id)).rejects.toMatchObject({
      code: 'DEAD_LETTER_STATE',
    });
    await expect(desk.letters.requeue('w~a:e.77')).rejects.toMatchObject({
      code: 'DEAD_LETTER_UNKNOWN',
    });
  });

  it('kills a letter again whose cause was not mended, as a new one (P4)', async () => {
    const desk = await withDead('a');
    const id = await onlyId(desk);
    await desk.letters.requeue(id);
    await desk.fixture.drained();
    const again = await onlyId(desk);
    expect(again).not.toBe(id);
    expect(desk.fixture.queue.totals()).toMatchObject({ accepted: 3, applied: 2, dead: 1 });
  });

  it('keeps the id of the original event, so that a client who sends it again is told the truth', async () => {
    const desk = openDesk();
    const record = testRecord({
      session: 'a',
      event: 'session:fork',
      eventId: 'e1',
      data: { session_id: 'a', parent: 'a', timestamp: '2026-06-01T00:00:00Z' },
    });
    await desk.fixture.post(record);
    await desk.fixture.drained();
    await desk.letters.requeue(await onlyId(desk));
    const [outcome] = await desk.fixture.queue.append([record]);
    expect(outcome?.status).toBe('duplicate');
  });

  it('requeues all live letters of one key in their order, and none of another', async () => {
    const desk = openDesk();
    const { fixture, letters } = desk;
    await fixture.post(...[0, 1, 2].map((at) => contradiction('a', at)), contradiction('b', 0));
    await fixture.drained();
    const before = (await letters.list({ session: 'a' }, { limit: 10 })).letters;
    const result = await letters.requeueKey(testKey('a'));
    expect(result.requeued.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    const positions = result.requeued.map(({ position }) => position);
    expect(positions).toEqual(positions.toSorted());
    await fixture.drained();
    expect(fixture.queue.totals()).toMatchObject({ accepted: 4, dead: 4, pending: 0 });
  });

  it('refuses the letters of a session in quarantine (ING-715)', async () => {
    const desk = await withDead('a');
    const id = await onlyId(desk);
    await desk.fixture.queue.quarantine(testKey('a'), { code: 'RECORD_CORRUPT', message: 'x' });
    await expect(desk.letters.requeue(id)).rejects.toMatchObject({
      code: 'SESSION_QUARANTINED',
    });
  });
});

describe('discard', () => {
  it('changes nothing in a dry run, and says what it would touch', async () => {
    const desk = await withDead('a', 'b');
    const result = await desk.letters.discard({ session: 'a' }, actor, { isDryRun: true });
    expect(result).toMatchObject({ isDryRun: true, count: 1, hasMore: false });
    expect(desk.fixture.queue.totals()).toMatchObject({ dead: 2, discarded: 0 });
  });

  it('gives up the letters of a filter by name, and the books stay balanced (D22, P4)', async () => {
    const desk = await withDead('a', 'b');
    const result = await desk.letters.discard({ session: 'a' }, actor, { isDryRun: false });
    expect(result).toMatchObject({ isDryRun: false, count: 1 });
    expect(desk.fixture.queue.totals()).toMatchObject({
      accepted: 6,
      applied: 4,
      dead: 1,
      discarded: 1,
      pending: 0,
    });
    const letter = await desk.letters.show(result.ids[0] ?? '');
    expect(letter?.outcome).toMatchObject({ kind: 'discarded', by: 'operator' });
    await expect(
      desk.letters.discard({ id: result.ids[0] ?? '' }, actor, { isDryRun: false }),
    ).rejects.toMatchObject({ code: 'DEAD_LETTER_STATE' });
  });

  it('refuses to give up everything at once, and what is not there', async () => {
    const { letters } = await withDead('a');
    for (const isDryRun of [false, true])
      await expect(letters.discard({}, actor, { isDryRun })).rejects.toMatchObject({
        code: 'FILTER_TOO_WIDE',
      });
    await expect(
      letters.discard({ visibleWorkspaces: ['w'] }, actor, { isDryRun: false }),
    ).rejects.toMatchObject({ code: 'FILTER_TOO_WIDE' });
    await expect(
      letters.discard({ id: 'w~a:e.1' }, actor, { isDryRun: false }),
    ).rejects.toMatchObject({ code: 'DEAD_LETTER_UNKNOWN' });
  });

  it('never moves a position or a cursor, though the drain commits at the same time (ING-713)', async () => {
    const desk = openDesk();
    const { fixture, letters } = desk;
    await fixture.post(contradiction('a', 0), ...notes('a', 5, 1));
    await fixture.drained();
    const id = await onlyId(desk);
    let at = 10;
    const posting = (async () => {
      for (; at < 60; at += 1) await fixture.post(note('a', at));
    })();
    await letters.discard({ id }, actor, { isDryRun: false });
    await posting;
    await fixture.drained();
    expect(fixture.queue.totals()).toMatchObject({ accepted: 56, applied: 55, discarded: 1 });
    const undisturbed = openDesk();
    await undisturbed.fixture.post(...notes('a', 5, 1), ...notes('a', 50, 10));
    await undisturbed.fixture.drained();
    expect(await fixture.graph.digest()).toEqual(await undisturbed.fixture.graph.digest());
  });

  it('reads the position again when a commit of the drain came in between', async () => {
    const desk = await withDead('a');
    const { queue } = desk.fixture;
    let refusals = 3;
    const racing = createDeadLetters({
      ledger: queue,
      wake: () => undefined,
      queue: {
        ...queue,
        protocolVersion: queue.protocolVersion,
        capabilities: queue.capabilities,
        activeKeys: () => queue.activeKeys(),
        close: () => queue.close(),
        async deadLetter(key, inputs, after, cursor) {
          refusals -= 1;
          if (refusals >= 0)
            throw positionRegression({ key, position: after, committed: 'further on' });
          return queue.deadLetter(key, inputs, after, cursor);
        },
      },
    });
    const result = await racing.discard({ session: 'a' }, actor, { isDryRun: false });
    expect(result.count).toBe(1);
    expect(queue.totals()).toMatchObject({ discarded: 1 });
  });
});
