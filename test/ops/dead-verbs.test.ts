import { afterEach, describe, expect, it } from 'vitest';
import { fold } from '#handlers';
import { verbs, type Caller } from '#ops';
import { contradiction, note } from '../drain/drain-fixture.ts';
import { testKey, testRecord } from '../support/queue-fixtures.ts';
import { operator, type OpsFixture, type Row } from './ops-fixture.ts';
import { audits, drainedOn, limitedTo, openings } from './ops-steps.ts';

const here = openings();
const called = new Set<string>();

const openHere = here.open;
const drained = async (): Promise<OpsFixture> => drainedOn(await openHere());

/** A session whose `broken` records died of a defect that is mended since. */
async function withMended(count: number): Promise<OpsFixture> {
  let isMended = false;
  const fixture = await openHere({
    fold: (cursor, record, context) => {
      if (record.event === 'broken' && !isMended) throw new TypeError(`bug ${record.id ?? ''}`);
      return fold(cursor, record, context);
    },
  });
  for (let at = 0; at < count; at += 1) await fixture.post(note('m', at, {}, 'broken'));
  await fixture.drained();
  isMended = true;
  return fixture;
}

async function letterIds({ call }: OpsFixture, input: Row = {}): Promise<readonly string[]> {
  const letters = (await call('dead list', input))['dead_letters'] as readonly Row[];
  return letters.map(({ id }) => String(id));
}

async function settled({ context }: OpsFixture, answer: Row): Promise<Row> {
  const { id } = answer['job'] as { readonly id: string };
  const job = await context.jobs.settled(id, new AbortController().signal);
  return { ...job };
}

afterEach(async () => {
  for (const name of await here.close()) called.add(name);
});

describe('looking', () => {
  it('lists, filters and shows; the payload only with ops:write (ING-716)', async () => {
    const fixture = await drained();
    const [id = ''] = await letterIds(fixture);
    expect(await fixture.call('dead list', { session: 'b' })).toMatchObject({
      dead_letters: [{ session_id: 'b', event: 'session:fork', state: 'live', attempts: 1 }],
    });
    expect(await fixture.call('dead list of session', { session: 'a', limit: 10 })).toMatchObject({
      dead_letters: [{ session_id: 'a' }],
    });
    expect(await letterIds(fixture, { key: testKey('a') })).toEqual([id]);
    expect(await letterIds(fixture, { until: '2000-01-01T00:00:00Z' })).toEqual([]);
    const whole = await fixture.call('dead show', { id });
    expect(String(whole['payload'])).toContain('session:fork');
    expect(JSON.parse(String(whole['editable']))).toMatchObject({
      event: 'session:fork',
      session_id: 'a',
    });
    const reader = { ...operator, scopes: new Set(['ops:read']) };
    const shown = await fixture.call('dead show', { id }, reader);
    expect(shown).not.toHaveProperty('payload');
    expect(shown).not.toHaveProperty('editable');
    for (const [caller, asked] of [
      [operator, 'w~a:x.1'],
      [limitedTo('another'), id],
    ] as const)
      await expect(fixture.call('dead show', { id: asked }, caller)).rejects.toMatchObject({
        code: 'DEAD_LETTER_UNKNOWN',
      });
  });

  it('groups letters by cause, largest first, whatever their ids and numbers say', async () => {
    const fixture = await withMended(3);
    await fixture.post(contradiction('a', 1));
    await fixture.drained();
    const answer = await fixture.call('dead groups');
    expect(answer).toMatchObject({
      letters: 4,
      omitted: 0,
      groups: [
        { code: 'HANDLER_FAILED', count: 3, sessions: 1, events: { broken: 3 } },
        { code: 'EVENT_CONTRADICTS', count: 1, events: { 'session:fork': 1 } },
      ],
    });
    const [first] = answer['groups'] as readonly Row[];
    const { group } = first ?? {};
    expect(await letterIds(fixture, { group })).toHaveLength(3);
    expect(await fixture.call('dead groups', {}, limitedTo('another'))).toMatchObject({
      groups: [],
      letters: 0,
    });
  });

  it('exports one letter a line, payloads for ops:write alone', async () => {
    const fixture = await drained();
    const lines = async (caller: Caller): Promise<readonly Row[]> =>
      String((await fixture.call('dead export', {}, caller))['text'])
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Row);
    const [first, ...others] = await lines(operator);
    expect(others).toHaveLength(1);
    expect(String(first?.['payload'])).toContain('"ev":"session:fork"');
    for (const letter of await lines({ ...operator, scopes: new Set(['ops:read']) }))
      expect(letter).not.toHaveProperty('payload');
  });

  it('shows the lives of a letter that died again, oldest first', async () => {
    const fixture = await drained();
    const [id = ''] = await letterIds(fixture, { session: 'a' });
    await fixture.call('dead requeue', { id });
    await fixture.drained();
    const [again = ''] = await letterIds(fixture, { session: 'a' });
    const { history } = await fixture.call('dead show', { id: again });
    expect(history).toMatchObject([
      { id, state: 'requeued' },
      { id: again, state: 'live' },
    ]);
  });
});

describe('acts on one letter', () => {
  it('requeues one and all of a session, and tells the audit (ING-916)', async () => {
    const fixture = await drained();
    const [first] = await letterIds(fixture);
    const told = await audits(() => fixture.call('dead requeue', { id: first }));
    const act = { verb: 'dead requeue', principal: 'operator', input: { id: first }, count: null };
    const operation_id = expect.any(String) as string;
    expect(told).toEqual([{ ...act, operation_id, outcome: 'done' }]);
    const refused = await audits(() => fixture.call('dead requeue', { id: first }));
    expect(refused).toMatchObject([{ outcome: 'DEAD_LETTER_STATE', count: null }]);
    const all = await audits(() => fixture.call('dead requeue of session', { session: 'b' }));
    expect(all).toMatchObject([{ outcome: 'done', count: 1 }]);
    expect((await fixture.call('audit list', { limit: 2 }))['audit']).toMatchObject([
      { verb: 'dead requeue of session', outcome: 'done', count: 1 },
      { ...act, outcome: 'DEAD_LETTER_STATE' },
    ]);
    await fixture.drained();
    expect(await fixture.call('status')).toMatchObject({ accepted: 10, dead: 2, residual: 0 });
  });

  it('shows what a requeue would write, or that it would die of the same, and changes nothing', async () => {
    const fixture = await withMended(1);
    await fixture.post(contradiction('a', 1));
    await fixture.drained();
    const [dies, applies] = await letterIds(fixture);
    expect(await fixture.call('dead requeue', { id: dies, dry_run: true })).toMatchObject({
      dry_run: true,
      preview: { outcome: 'dies', same_error: true, error: { code: 'EVENT_CONTRADICTS' } },
    });
    const before = await fixture.graph.digest();
    const told = await fixture.call('dead requeue', { id: applies, dry_run: true });
    expect(told).toMatchObject({ preview: { outcome: 'applies', error: null } });
    const { nodes } = told['preview'] as { readonly nodes: readonly Row[] };
    expect(nodes.map(({ labels }) => labels)).toContainEqual(expect.arrayContaining(['Event']));
    expect(await fixture.graph.digest()).toEqual(before);
    expect(await fixture.call('status')).toMatchObject({ dead: 2, pending: 0 });
  });

  it('requeues an edited payload under an id of its own and keeps the original (ING-714)', async () => {
    const fixture = await openHere();
    const data = { session_id: 'a', parent: 'a', timestamp: '2026-06-01T00:00:00Z', big: 1 };
    const record = testRecord({ session: 'a', event: 'session:fork', eventId: 'e1', data });
    await fixture.post(record);
    await fixture.drained();
    const [id = ''] = await letterIds(fixture);
    const { editable, payload } = await fixture.call('dead show', { id });
    const event = String(editable).replace(
      '"parent":"a"',
      '"parent":"p","big":12345678901234567890',
    );
    expect(await fixture.call('dead edit', { id, event, dry_run: true })).toMatchObject({
      preview: { outcome: 'applies' },
    });
    const told = await audits(() => fixture.call('dead edit', { id, event }));
    expect(JSON.stringify(told)).not.toContain('parent');
    await fixture.drained();
    expect(await fixture.call('status')).toMatchObject({
      accepted: 1,
      applied: 1,
      dead: 0,
      residual: 0,
    });
    const kept = await fixture.call('dead show', { id });
    expect(kept).toMatchObject({ state: 'requeued', payload });
    const [again] = await fixture.queue.append([record]);
    expect(again?.status, 'the id of the original is not free').not.toBe('queued');
    await expect(fixture.call('dead edit', { id, event })).rejects.toMatchObject({
      code: 'DEAD_LETTER_STATE',
    });
  });

  it('refuses an edit that is no event of its session (EDIT_REFUSED)', async () => {
    const fixture = await drained();
    const [id = ''] = await letterIds(fixture);
    const data = '{"timestamp":"2026-06-01T00:00:00Z"}';
    for (const event of [
      '{',
      '[]',
      '{"event":"x","data":{}}',
      `{"event":"x","session_id":"other","data":${data}}`,
      `{"event":"x","workspace":"other","data":${data}}`,
      `{"event":"x","event_id":"new","data":${data}}`,
    ])
      await expect(fixture.call('dead edit', { id, event }), event).rejects.toMatchObject({
        code: 'EDIT_REFUSED',
      });
    expect(await fixture.call('status')).toMatchObject({ dead: 2 });
  });

  it('keeps every act within the workspaces of the caller', async () => {
    const fixture = await drained();
    const [id] = await letterIds(fixture);
    const foreign = limitedTo('another');
    expect(await fixture.call('dead list', {}, foreign)).toEqual({ dead_letters: [] });
    for (const [verb, input] of [
      ['dead requeue', { id }],
      ['dead edit', { id, event: '{}' }],
      ['dead discard', { id, dry_run: false }],
    ] as const)
      await expect(fixture.call(verb, input, foreign), verb).rejects.toMatchObject({
        code: 'DEAD_LETTER_UNKNOWN',
      });
    await expect(
      fixture.call('dead requeue of session', { session: 'a' }, foreign),
    ).rejects.toMatchObject({ code: 'SESSION_UNKNOWN' });
    expect(await fixture.call('dead discard', { session: 'a' }, foreign)).toMatchObject({
      count: 0,
    });
    const job = await fixture.call('dead requeue selection', { ids: [id] }, foreign);
    expect(job).toMatchObject({ count: 0 });
    expect(await fixture.call('status')).toMatchObject({ dead: 2, discarded: 0 });
  });
});

describe('jobs', () => {
  it('requeues a group as a job, with a result for each letter and the audit of its end (SC-035)', async () => {
    const fixture = await withMended(7);
    await fixture.post(contradiction('a', 1));
    await fixture.drained();
    const [first] = (await fixture.call('dead groups'))['groups'] as readonly Row[];
    const { group } = first ?? {};
    const dry = await fixture.call('dead requeue selection', { group, dry_run: true, limit: 5 });
    expect(dry).toMatchObject({ count: 7, summary: { applies: 5, dies: 0, refused: 0 } });
    expect(dry).not.toHaveProperty('job');
    const answer = await fixture.call('dead requeue selection', { group });
    expect(answer).toMatchObject({ count: 7, job: { kind: 'requeue', selection: { group } } });
    expect(await settled(fixture, answer)).toMatchObject({
      state: 'done',
      counts: { requeued: 7 },
    });
    await fixture.drained();
    const { id } = answer['job'] as Row;
    expect(await fixture.call('jobs show', { id })).toMatchObject({ state: 'done', done: 7 });
    const page = await fixture.call('jobs results', { id, limit: 5, result: 'requeued' });
    expect(page['results']).toHaveLength(5);
    expect((page['results'] as readonly Row[])[0]).toMatchObject({ now: 'applied', code: null });
    const rest = await fixture.call('jobs results', { id, page_token: page['next_page_token'] });
    expect(rest['results']).toHaveLength(2);
    expect((await fixture.call('jobs list'))['jobs']).toMatchObject([{ id }]);
    expect(await fixture.call('jobs list', {}, limitedTo('w'))).toEqual({ jobs: [] });
    expect((await fixture.call('audit list', { limit: 1 }))['audit']).toMatchObject([
      { operation_id: answer['operation_id'], verb: 'job requeue', outcome: 'done' },
    ]);
    expect(await fixture.call('status')).toMatchObject({ applied: 7, dead: 1, residual: 0 });
  });

  it('suppresses what went through already, and tells what was refused and why', async () => {
    const fixture = await drained();
    const ids = await letterIds(fixture);
    await fixture.queue.quarantine(testKey('b'), { code: 'RECORD_CORRUPT', message: 'x' });
    const answer = await fixture.call('dead requeue selection', { ids, per_second: 4 });
    // The first letter goes at once, the second a quarter of a second later.
    const done = settled(fixture, answer);
    await fixture.clock.advance(60_000);
    expect(await done).toMatchObject({ state: 'done', counts: { requeued: 1, refused: 1 } });
    const { id } = answer['job'] as Row;
    expect(
      (await fixture.call('jobs results', { id, result: 'refused' }))['results'],
    ).toMatchObject([{ letter: ids[1], code: 'SESSION_QUARANTINED' }]);
  });

  it('takes the same operation for the same job, and requeues nothing twice (C25)', async () => {
    const fixture = await withMended(2);
    const { jobs } = fixture.context;
    const order = { id: 'op-1', kind: 'requeue', principal: 'operator', filter: {} } as const;
    const never = new AbortController().signal;
    await jobs.begin(order);
    await jobs.settled('op-1', never);
    expect(await jobs.begin(order)).toMatchObject({ total: 2, state: 'done' });
    expect(fixture.queue.totals()).toMatchObject({ accepted: 2 });
  });

  it('cancels, pauses and goes on; what is done stays done', async () => {
    const fixture = await withMended(10);
    const answer = await fixture.call('dead requeue selection', { session: 'm', per_second: 4 });
    const { id } = answer['job'] as { readonly id: string };
    await fixture.call('jobs pause', { id });
    await fixture.context.jobs.settled(id, new AbortController().signal);
    const paused = await fixture.call('jobs show', { id });
    expect(paused).toMatchObject({ state: 'paused' });
    expect(paused['done']).toBeLessThan(10);
    await fixture.clock.advance(10_000);
    expect(await fixture.call('jobs show', { id })).toMatchObject({ done: paused['done'] });
    await fixture.call('jobs resume', { id });
    await fixture.call('jobs cancel', { id });
    await fixture.context.jobs.settled(id, new AbortController().signal);
    const ended = await fixture.call('jobs show', { id });
    expect(ended).toMatchObject({ state: 'cancelled' });
    await fixture.drained();
    const { dead, applied } = (await fixture.call('status')) as { dead: number; applied: number };
    expect(dead + applied).toBe(10);
    expect(applied).toBe(ended['done']);
    for (const act of ['cancel', 'pause', 'resume'])
      await expect(fixture.call(`jobs ${act}`, { id })).rejects.toMatchObject({
        code: 'JOB_STATE',
      });
    await expect(fixture.call('jobs show', { id: 'none' })).rejects.toMatchObject({
      code: 'JOB_UNKNOWN',
    });
  });
});

describe('discard', () => {
  it('shows what it would touch, asks to be confirmed, and discards exactly that (D22, ING-923)', async () => {
    const fixture = await drained();
    const dry = await fixture.call('dead discard', { session: 'a' });
    expect(dry).toMatchObject({ dry_run: true, count: 1, more: false });
    expect(await fixture.call('status')).toMatchObject({ dead: 2 });
    const input = { session: 'a', dry_run: false, reason: 'test data' };
    await expect(fixture.call('dead discard', input)).rejects.toMatchObject({
      code: 'DISCARD_UNCONFIRMED',
    });
    const { confirm } = dry;
    const told = await audits(() => fixture.call('dead discard', { ...input, confirm }));
    expect(told).toMatchObject([
      { verb: 'job discard', outcome: 'done', input: { counts: { discarded: 1 } } },
      { verb: 'dead discard', input, outcome: 'done', count: 1 },
    ]);
    expect(await fixture.call('status')).toMatchObject({ dead: 1, discarded: 1, residual: 0 });
    for (const wide of [{ dry_run: false }, { dry_run: true }, {}])
      await expect(fixture.call('dead discard', wide)).rejects.toMatchObject({
        code: 'FILTER_TOO_WIDE',
      });
  });

  it('does nothing when the letters are others than those that were shown (SELECTION_CHANGED)', async () => {
    const fixture = await drained();
    const { confirm } = await fixture.call('dead discard', { workspace: 'w' });
    await fixture.post(contradiction('c', 9));
    await fixture.drained();
    await expect(
      fixture.call('dead discard', { workspace: 'w', dry_run: false, confirm }),
    ).rejects.toMatchObject({ code: 'SELECTION_CHANGED' });
    expect(await fixture.call('status')).toMatchObject({ dead: 3, discarded: 0 });
    expect(await fixture.call('jobs list')).toEqual({ jobs: [] });
  });
});

describe('the verbs over letters and jobs', () => {
  it('had the answer of each checked against its schema by the tests above', () => {
    const own = verbs.filter(({ name }) => /^dead (?!write-off)|^jobs |^audit /.test(name));
    expect(own.filter(({ name }) => !called.has(name))).toEqual([]);
  });
});
