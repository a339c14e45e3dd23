import { afterEach, describe, expect, it } from 'vitest';
import type { AdoptDependencies } from '#drain';
import { systemChance } from '#base';
import { atomicReplace, stagingNames } from '#disk';
import type { AppendInput } from '#queue';
import { queueDirectory } from '../support/filesystem-queue.ts';
import { emptyMemoryGraph } from '../support/memory-graph.ts';
import { testKey } from '../support/queue-fixtures.ts';
import { adoptDefects } from '../mutants/adopt-defects.ts';
import {
  dyingAt,
  newPlace,
  openLife,
  type Life,
  type LifeOptions,
  type Place,
} from './adopt-fixture.ts';
import { note } from './drain-fixture.ts';

const sessions = ['a', 'b', 'c'] as const;
const open: Life[] = [];

async function live(place: Place, options?: LifeOptions): Promise<Life> {
  const life = await openLife(place, options);
  open.push(life);
  return life;
}

afterEach(async () => {
  for (const life of open.splice(0)) await life.close().catch(() => undefined);
});

/** Numbered events with ids, as a file would hold them. */
function events(session: string, count: number, from = 0): readonly AppendInput[] {
  return Array.from({ length: count }, (_, at) => ({
    ...note(session, from + at),
    eventId: `${session}-${from + at}`,
  }));
}

/** Three sessions of three events each, drained, then left by a crash. */
async function drainedPlace(): Promise<Place> {
  const place = newPlace();
  const life = await live(place);
  for (const session of sessions) await life.post(...events(session, 3));
  await life.drained();
  await life.queue.checkpoint();
  life.crash();
  return place;
}

function emptyItsGraph(place: Place): void {
  place.graph = emptyMemoryGraph('another graph');
}

async function appliedOf({ queue }: Life): Promise<number> {
  return queue.totals().applied;
}

describe('graph adopt', () => {
  it('says what it would do and does nothing of it in a dry run (ING-542)', async () => {
    const place = await drainedPlace();
    emptyItsGraph(place);
    const life = await live(place);
    const report = await life.adopt({ isDryRun: true });
    expect(report).toMatchObject({
      keys: 3,
      changed: { missing: 3, behind: 0, ahead: 0, foreign: 0, unknown: 0 },
      idsForgotten: 0,
      graphBefore: 'first graph',
      graphId: 'another graph',
    });
    expect(report.changes.map(({ key }) => key)).toEqual(sessions.map((name) => testKey(name)));
    expect(place.graph.rows.size).toBe(0);
    expect(life.queue.bond.graphId).toBe('first graph');
  });

  it('lets the files of an emptied graph be posted again (ING-542)', async () => {
    const place = await drainedPlace();
    emptyItsGraph(place);
    const life = await live(place);
    const waiting = await life.post(note('d', 0));
    expect(waiting).toMatchObject([{ status: 'queued' }]);
    const report = await life.adopt();
    expect(report).toMatchObject({ idsForgotten: 9, changed: { missing: 3 } });
    await life.drained();
    const again = await life.post(...events('a', 3), ...events('b', 3), ...events('c', 3));
    expect(again.map(({ status }) => status)).toEqual(Array.from({ length: 9 }, () => 'queued'));
    await life.drained();
    expect(life.queue.totals()).toMatchObject({ accepted: 19, applied: 19, pending: 0 });
    expect([...place.graph.nodes.keys()].filter((id) => id.includes('custom_note'))).toHaveLength(
      10,
    );
    expect(life.drain.status()).toMatchObject({ mismatchedKeys: 0, trouble: [] });
  });

  it('keeps the ids forgotten over a crash right after it', async () => {
    const place = await drainedPlace();
    emptyItsGraph(place);
    const life = await live(place);
    await life.adopt();
    life.crash();
    const next = await live(place);
    const again = await next.post(...events('a', 3));
    expect(again.map(({ status }) => status)).toEqual(['queued', 'queued', 'queued']);
  });

  it('sets back a graph that is ahead of an older root, and folds again what lies behind (C37, QFS-13)', async () => {
    const place = await drainedPlace();
    const row = place.graph.rows.get(testKey('a'));
    const more = await live(place);
    await more.post(...events('a', 4, 3));
    await more.drained();
    const { digest } = await more.graph.digest();
    more.crash();
    // The row of a longer life beside the log of a shorter one: its record at that place is another.
    if (row !== undefined)
      place.graph.rows.set(testKey('a'), { ...row, position: laterThan(row.position) });
    const life = await live(place);
    await life.post(...events('a', 1, 7));
    await life.drained();
    expect(life.drain.worker(testKey('a'))?.state).toBe('mismatched');
    expect(await life.adopt()).toMatchObject({
      changed: { ahead: 1, missing: 0 },
      idsForgotten: 0,
    });
    await life.drained();
    expect(life.queue.totals()).toMatchObject({ pending: 0 });
    const straight = await live(newPlace());
    for (const session of sessions) await straight.post(...events(session, 3));
    await straight.post(...events('a', 4, 3));
    await straight.drained();
    expect((await straight.graph.digest()).digest).toBe(digest);
    await straight.post(...events('a', 1, 7));
    await straight.drained();
    expect(await life.graph.digest()).toEqual(await straight.graph.digest());
  });

  it('goes on behind an older graph, and says that something is missing (C39)', async () => {
    const place = await drainedPlace();
    const rows = new Map(place.graph.rows);
    const more = await live(place);
    await more.post(...events('a', 2, 3));
    await more.drained();
    more.crash();
    for (const [key, row] of rows) place.graph.rows.set(key, row);
    const life = await live(place);
    expect(await life.adopt()).toMatchObject({ changed: { behind: 1 }, idsForgotten: 0 });
    await life.post(...events('a', 1, 5));
    await life.drained();
    expect(life.queue.totals()).toMatchObject({ pending: 0, applied: 12 });
  });

  it('takes rows over from another root, and takes away what no key of ours has (C38)', async () => {
    const place = await drainedPlace();
    const own = place.graph.rows.get(testKey('a'));
    expect(own).toBeDefined();
    if (own === undefined) return;
    place.graph.rows.set(testKey('a'), { ...own, rootId: 'SR-other' });
    place.graph.rows.set(testKey('gone'), own);
    place.graph.rows.set(testKey('theirs'), { ...own, rootId: 'SR-other' });
    place.graph.mark = { domain: 'daemon:SR-other', generation: 900, holder: 'x' };
    const life = await live(place);
    expect(await life.adopt()).toMatchObject({ changed: { foreign: 1, unknown: 1 } });
    expect(place.graph.rows.get(testKey('a'))).toEqual(own);
    expect(place.graph.rows.has(testKey('gone'))).toBe(false);
    expect(place.graph.rows.get(testKey('theirs'))?.rootId).toBe('SR-other');
    await life.post(...events('gone', 2), ...events('a', 1, 3));
    await life.drained();
    expect(life.queue.totals()).toMatchObject({ pending: 0, applied: 12 });
  });

  it('leaves keys alone that queue and graph agree on, those ahead of their commit too (ING-539)', async () => {
    const place = await drainedPlace();
    const life = await live(place);
    const before = new Map(place.graph.rows);
    expect(await life.adopt()).toMatchObject({
      changed: { missing: 0, behind: 0, ahead: 0, foreign: 0, unknown: 0 },
    });
    expect(place.graph.rows).toEqual(before);
  });

  it('adopts one key, and lets it drain again at once', async () => {
    const place = await drainedPlace();
    for (const session of ['a', 'b']) place.graph.rows.delete(testKey(session));
    const life = await live(place);
    await life.post(...events('a', 1, 3), ...events('b', 1, 3));
    await life.drained();
    expect(life.drain.status().mismatchedKeys).toBe(2);
    expect(await life.adopt({ key: testKey('a') })).toMatchObject({ keys: 1 });
    await life.drained();
    expect(life.drain.status().mismatchedKeys).toBe(1);
    expect(life.queue.totals()).toMatchObject({ pending: 1 });
    await expect(life.adopt({ key: testKey('nobody') })).rejects.toMatchObject({
      code: 'ADOPT_REFUSED',
    });
  });

  it('refuses one key where the graph itself is another', async () => {
    const place = await drainedPlace();
    emptyItsGraph(place);
    const life = await live(place);
    await expect(life.adopt({ key: testKey('a') })).rejects.toMatchObject({
      code: 'ADOPT_REFUSED',
    });
  });
});

function laterThan<P extends string>(position: P): P {
  return position.replace(/^(\d{8}\.)[0-9a-f]{14}/, '$1000000000fffff') as P;
}

interface Swept {
  /** Steps at which an adopt was killed. */
  readonly kills: number;
  readonly faults: readonly string[];
}

/** Kills an adopt of an emptied graph at every step in turn, looks at what the next start finds, and runs it again (C40). */
async function sweep(
  change: (dependencies: AdoptDependencies) => AdoptDependencies = (same) => same,
): Promise<Swept> {
  const faults: string[] = [];
  for (let step = 1; ; step += 1) {
    const place = await drainedPlace();
    emptyItsGraph(place);
    const die = dyingAt(step);
    const wrap = (plain: AdoptDependencies): AdoptDependencies => change(die?.(plain) ?? plain);
    const life = await live(place, { wrap });
    const end = await life.adopt().then(
      () => 'done',
      (error: Error) => error.message,
    );
    if (end === 'done') return { kills: step - 1, faults };
    expect(end).toBe('killed');
    const wasBound = life.queue.bond.graphId === 'another graph';
    life.crash();
    const between = await live(place);
    await between.post(note('late', 0));
    await between.clock.advance(1000);
    const isWhole = place.graph.rows.size >= sessions.length;
    if ((await appliedOf(between)) > 9 && !(wasBound && isWhole))
      faults.push(`step ${step}: a half-adopted graph drains`);
    between.crash();
    const last = await live(place);
    await last.adopt();
    await last.drained();
    const posted = await last.post(...sessions.flatMap((session) => events(session, 3)));
    if (posted.some(({ status }) => status !== 'queued'))
      faults.push(`step ${step}: files cannot be posted again`);
    await last.drained();
    const { accepted, applied, pending } = last.queue.totals();
    if (accepted !== applied || pending !== 0) faults.push(`step ${step}: records are left`);
    last.crash();
    for (const one of open.splice(0)) await one.close().catch(() => undefined);
  }
}

describe('graph adopt, killed after each key', () => {
  it('ends the same when it is run again, and nothing drains before (ING-T43, C40)', async () => {
    const { kills, faults } = await sweep();
    expect(faults).toEqual([]);
    // Ids, row, twice each, for three keys; then format.json.
    expect(kills).toBeGreaterThanOrEqual(13);
  });

  for (const { name, wrap } of adoptDefects)
    it(`is told from one that ${name} (ING-T43)`, async () => {
      const { faults } = await sweep(wrap);
      expect(faults).not.toEqual([]);
    });
});

/** Kills the adopt of a restored root at every step; each next start goes on by itself, as long as the mark is there (C41). */
async function sweepRestored(
  change: (dependencies: AdoptDependencies) => AdoptDependencies = (same) => same,
): Promise<Swept> {
  const faults: string[] = [];
  for (let step = 1; ; step += 1) {
    const place = await drainedPlace();
    const from = { backupId: 'b-1', rootId: 'SR-saved' };
    for (const [key, row] of place.graph.rows)
      place.graph.rows.set(key, { ...row, rootId: from.rootId });
    place.graph.mark = { domain: 'daemon:SR-saved', generation: 900, holder: 'x' };
    await markRestored(place, from.rootId);
    const die = dyingAt(step);
    const wrap = (plain: AdoptDependencies): AdoptDependencies => change(die?.(plain) ?? plain);
    const life = await live(place, { wrap, isStarted: false });
    const end = await life.adopt().then(
      () => 'done',
      () => 'killed',
    );
    life.crash();
    const next = await live(place, { isStarted: false });
    if (next.queue.bond.restoredFrom !== null) await next.adopt();
    next.drain.start();
    await next.post(...sessions.flatMap((session) => events(session, 1, 3)));
    await next.drained();
    if (next.drain.status().mismatchedKeys > 0)
      faults.push(`step ${step}: the next start leaves sessions that stand still`);
    next.crash();
    for (const one of open.splice(0)) await one.close().catch(() => undefined);
    if (end === 'done') return { kills: step - 1, faults };
  }
}

/** The queue names the root of the backup as the one that its graph's rows still name. */
async function markRestored({ disk }: Place, savedFrom: string): Promise<void> {
  const path = `${queueDirectory}/format.json`;
  const format = JSON.parse(Buffer.from((await disk.readFile(path)) ?? []).toString()) as object;
  const restored = { backup_id: 'b-1', root_id: savedFrom };
  const bytes = Buffer.from(JSON.stringify({ ...format, restored }));
  await atomicReplace(disk, path, bytes, stagingNames(2, systemChance));
}

describe('the adopt of a restored root, killed at each step', () => {
  it('is done by the next start, which keeps its mark until the end (ING-T44, C41)', async () => {
    const { kills, faults } = await sweepRestored();
    expect(faults).toEqual([]);
    expect(kills).toBeGreaterThanOrEqual(7);
  });

  it('is told from one that removes the mark first (ING-T44)', async () => {
    const [first] = adoptDefects;
    const { faults } = await sweepRestored((plain) => first?.wrap(plain) ?? plain);
    expect(faults).not.toEqual([]);
  });
});
