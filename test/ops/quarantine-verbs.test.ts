import { systemClock } from '#base';
import { afterEach, describe, expect, it } from 'vitest';
import { cursorFold } from '#drain';
import { emptyCursor } from '#record';
import { append, drain as apply, kill, numbered } from '../contract/queue/steps.ts';
import { edit, flipAt, folderOf, Place } from '../queue-backends/filesystem/place.ts';
import { testKey } from '../support/queue-fixtures.ts';
import { createKeyRepair } from '../../src/daemon/desk/key-repair.ts';
import { openOps, operator, type OpsFixture } from './ops-fixture.ts';
import type { FilesystemQueue } from '#queue-backends/filesystem';

const key = testKey();
const offsetPath = `${folderOf()}/offset.json`;
const logPath = `${folderOf()}/log.000000.jsonl`;
const open: { readonly place: Place; readonly fixture: OpsFixture }[] = [];

afterEach(async () => {
  for (const { place, fixture } of open.splice(0)) {
    await fixture.close();
    await place.dispose();
  }
});

interface Stage {
  readonly call: OpsFixture['call'];
  readonly queue: FilesystemQueue;
  /** Keys that the drain was told to take up again. */
  readonly resumed: string[];
}

/** A root with one stopped session of four records, one of them applied, and one that is well. */
async function stage(damage: (place: Place) => Promise<void>): Promise<Stage> {
  const place = new Place();
  const first = await place.open();
  await append(first, ...numbered('s', 0, 4), ...numbered('t', 0, 2));
  await apply(first, 's', 1);
  await first.close();
  await damage(place);
  const queue = await place.open();
  await queue.readBatch(key, { records: 10, bytes: 1e6 }).catch(() => undefined);
  const resumed: string[] = [];
  const repair = createKeyRepair({
    logs: queue,
    graph: {
      spillBytes: 32 * 1024,
      armKeys: async () => new Map([[key, null]]),
      adopt: async () => undefined,
    },
    clock: systemClock,
    permit: undefined as never,
    rootId: 'root',
    drain: { resume: (one) => resumed.push(one), pause: async () => () => undefined },
  });
  const fixture = await openOps({ isStarted: false, context: { queue, ledger: queue, repair } });
  open.push({ place, fixture });
  return { call: fixture.call, queue, resumed };
}

const inLog = (place: Place): Promise<void> =>
  edit(place.disk, logPath, (bytes) => flipAt(bytes, '"n":1'));
const inRecord = (place: Place): Promise<void> =>
  edit(place.disk, offsetPath, () => Buffer.from('12x'));

describe('quarantine list and show', () => {
  it('name the stopped session, its damage and the ways that apply, and no other session', async () => {
    const { call } = await stage(inLog);
    expect(await call('quarantine list')).toEqual({
      quarantine: [
        expect.objectContaining({ key, session_id: 's', code: 'RECORD_CORRUPT', pending: 3 }),
      ],
    });
    const shown = await call('quarantine show', { session: 's' });
    expect(shown).toMatchObject({ code: 'RECORD_CORRUPT', damage_count: 1, record_fault: null });
    const ways = shown['ways'] as readonly { mode: string; applies: boolean }[];
    expect(ways.filter(({ applies }) => applies).map(({ mode }) => mode)).toEqual([
      'skip-to-end',
      'pass-over',
    ]);
    await expect(call('quarantine show', { session: 't' })).rejects.toMatchObject({
      code: 'QUARANTINE_UNKNOWN',
    });
  });

  it('show nothing of a workspace that is not the caller’s', async () => {
    const { call } = await stage(inLog);
    const caller = { ...operator, workspaces: ['other'] };
    expect(await call('quarantine list', {}, caller)).toEqual({ quarantine: [] });
    await expect(call('quarantine show', { session: 's' }, caller)).rejects.toMatchObject({
      code: 'SESSION_UNKNOWN',
    });
  });
});

describe('quarantine clear', () => {
  it('shows what it would do and changes nothing when it is asked for that', async () => {
    const { call, queue, resumed } = await stage(inLog);
    const input = { session: 's', mode: 'pass-over', dry_run: true };
    expect(await call('quarantine clear', input)).toMatchObject({ dry_run: true, pending: 3 });
    expect((await queue.keyStatus(key))?.quarantine).not.toBeNull();
    expect(resumed).toEqual([]);
  });

  it('takes the way, has its key drained again, and stands in the audit (ING-412, ING-916)', async () => {
    const { call, queue, resumed } = await stage(inLog);
    const answer = await call('quarantine clear', { session: 's', mode: 'pass-over' });
    expect(answer).toMatchObject({ dry_run: false, letters: 1, dead_records: 1, pending: 2 });
    expect((await queue.keyStatus(key))?.quarantine).toBeNull();
    expect(resumed).toEqual([key]);
    expect(await call('audit list')).toMatchObject({
      audit: [{ verb: 'quarantine clear', principal: 'operator', outcome: 'done', count: 1 }],
    });
  });

  it('refuses a way that does not apply and names those that do', async () => {
    const { call } = await stage(inRecord);
    await expect(call('quarantine clear', { session: 's', mode: 'keep' })).rejects.toMatchObject({
      code: 'CLEAR_REFUSED',
      details: { ways: expect.arrayContaining(['restart-log']) as unknown },
    });
  });

  it('skips to the end only when the key is said again (ING-412)', async () => {
    const { call, queue } = await stage(inRecord);
    const input = { session: 's', mode: 'skip-to-end' };
    for (const confirm of [undefined, 's', `${key}x`])
      await expect(
        call('quarantine clear', confirm === undefined ? input : { ...input, confirm }),
      ).rejects.toMatchObject({ code: 'CLEAR_REFUSED' });
    expect(await call('quarantine clear', { ...input, confirm: key })).toMatchObject({
      dead_records: 3,
      pending: 0,
    });
    expect(queue.totals()).toMatchObject({ accepted: 6, applied: 1, dead: 3, pending: 2 });
  });
});

describe('queue recover and replay', () => {
  it('judge every session, and drain again what can be', async () => {
    const { call, resumed } = await stage(inRecord);
    expect(await call('queue recover')).toMatchObject({
      keys: 2,
      verdicts: { quarantine: 1, resumable: 1 },
      attention: [{ key, verdict: 'quarantine', reason: 'offset_damaged' }],
    });
    expect(resumed).toEqual([testKey('t')]);
  });

  it('drain a session again from where its log begins', async () => {
    const { call, queue, resumed } = await stage(async () => undefined);
    expect(await call('queue replay', { session: 's', dry_run: true })).toMatchObject({
      pending: 3,
    });
    expect(await call('queue replay', { session: 's' })).toMatchObject({ pending: 4 });
    expect(resumed).toEqual([key]);
    expect(queue.totals()).toMatchObject({ accepted: 6, applied: 0, pending: 6 });
  });
});

describe('a cursor that is folded anew', () => {
  it('leaves out what cannot be folded, as the drain would (ING-510)', () => {
    const fold = cursorFold(1024);
    const cursor = emptyCursor();
    expect(fold(key, cursor, Buffer.from('{"v":9}'))).toBe(cursor);
    const line = (event: string, data: object): Buffer =>
      Buffer.from(
        JSON.stringify({
          v: 1,
          sid: 's',
          at: '2026-01-01T00:00:00.000Z',
          ws: 'w',
          by: 'a',
          ev: event,
          data,
        }),
      );
    const self = { parent: 's', timestamp: '2026-01-01T00:00:00Z' };
    expect(fold(key, cursor, line('session:fork', self))).toBe(cursor);
    const note = { timestamp: '2026-01-01T00:00:00Z' };
    expect(fold(key, cursor, line('note', note)).layer1.event_seq).toBe(1);
  });
});

describe('dead write-off', () => {
  it('counts what is lost, and writes it off once it is told to; that stands in the audit (ING-717, ING-916)', async () => {
    const { call, queue } = await stage(() => Promise.resolve());
    await kill(queue);
    await queue.checkpoint();
    const whole = { session: 's', dry_run: true };
    expect(await call('dead write-off', whole)).toMatchObject({ counted: 1, found: 1, lost: 0 });
    await expect(call('dead write-off', { session: 's' })).rejects.toMatchObject({
      code: 'WRITE_OFF_REFUSED',
    });
    const place = open.at(-1)?.place as Place;
    await edit(place.disk, `${folderOf()}/dead.jsonl`, () => Buffer.alloc(0));
    expect(await call('dead write-off', whole)).toMatchObject({ dry_run: true, found: 0, lost: 1 });
    expect(await call('dead write-off', { session: 's' })).toMatchObject({ lost: 1, counted: 1 });
    expect((await queue.keyStatus(key))?.discarded).toBe(1);
    expect(await call('audit list')).toMatchObject({
      audit: expect.arrayContaining([
        expect.objectContaining({ verb: 'dead write-off', outcome: 'done', count: 1 }),
      ]),
    });
  });
});
