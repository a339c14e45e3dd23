import { afterEach, describe, expect, it } from 'vitest';
import { graphConflict, graphDenied, graphUnavailable, mutationRefused } from '#graph';
import type { GroupPart } from '#graph';
import { queueWriteFailed } from '#queue';
import { seededChance } from '../support/chance.ts';
import { testKey } from '../support/queue-fixtures.ts';
import {
  contradiction,
  holdsMark,
  newWorld,
  note,
  notes,
  openDrain,
  type DrainFixture,
  type FixtureOptions,
} from '../drain/drain-fixture.ts';

const open: DrainFixture[] = [];

function openHere(options: FixtureOptions = {}): DrainFixture {
  const fixture = openDrain(options);
  open.push(fixture);
  return fixture;
}

afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close();
});

const sessions = Array.from({ length: 8 }, (_, at) => `s${at}`);

/** Lets the clock run until all is drained: waits are sat out in fake time. */
async function drainedInTime(fixture: DrainFixture, limitMs = 600_000): Promise<void> {
  const fate = { isDone: false };
  const done = fixture.drained().then(() => {
    fate.isDone = true;
  });
  for (let ms = 0; ms < limitMs && !fate.isDone; ms += 250) await fixture.clock.advance(250);
  await done;
}

/** The digest of a run that nothing disturbed. */
async function undisturbed(): Promise<string> {
  const fixture = openHere();
  for (const session of sessions) await fixture.post(...notes(session, 20));
  await drainedInTime(fixture);
  return (await fixture.graph.digest()).digest;
}

async function expectAllApplied(fixture: DrainFixture): Promise<void> {
  const accepted = sessions.length * 20;
  expect(fixture.queue.totals()).toMatchObject({
    accepted,
    applied: accepted,
    pending: 0,
    dead: 0,
  });
  expect((await fixture.graph.digest()).digest).toBe(await undisturbed());
  expect(fixture.stops).toEqual([]);
}

describe('a graph in trouble', () => {
  it('SC-039 restarts under load: the queue grows, nothing is dead, all of it arrives (P4)', async () => {
    const fixture = openHere();
    const { post, graph, clock, queue } = fixture;
    for (const session of sessions) await post(...notes(session, 5));
    graph.setUnavailable(true);
    for (const session of sessions) {
      await post(...notes(session, 15, 5));
      await clock.advance(60_000 / sessions.length);
    }
    expect(queue.totals().dead).toBe(0);
    expect(queue.totals().pending).toBeGreaterThan(0);
    graph.setUnavailable(false);
    await drainedInTime(fixture);
    await expectAllApplied(fixture);
  });

  it('SC-036 is away for half an hour: no dead letter, and no attempt is held against a record (ING-511, ING-522)', async () => {
    const fixture = openHere();
    const { post, graph, clock, queue } = fixture;
    graph.setUnavailable(true);
    for (const session of sessions) await post(...notes(session, 20));
    await clock.advance(30 * 60_000);
    expect(queue.totals()).toMatchObject({ pending: 160, dead: 0, applied: 0 });
    graph.setUnavailable(false);
    await drainedInTime(fixture);
    await expectAllApplied(fixture);
  });

  it('SC-038 refuses our credentials: the drain pauses and says so, and all events land once they are mended', async () => {
    let isDenied = true;
    const deny = (): void => {
      if (isDenied) throw graphDenied({ reason: 'the password has expired' });
    };
    const fixture = openHere({ faults: { beforeArm: deny, beforeApply: deny } });
    const { post, clock, queue, drain } = fixture;
    for (const session of sessions) await post(...notes(session, 20));
    await clock.advance(120_000);
    expect(queue.totals()).toMatchObject({ pending: 160, dead: 0 });
    const told = drain.status().trouble;
    expect(told.map(({ code }) => code)).toContain('GRAPH_DENIED');
    expect(told[0]?.message).toContain('the password has expired');
    isDenied = false;
    await drainedInTime(fixture);
    expect(drain.status().trouble).toEqual([]);
    await expectAllApplied(fixture);
  });

  it('SC-041 ends three transactions of ten in a deadlock: each is tried again, and the position follows the commit (P3)', async () => {
    const chance = seededChance(41);
    let deadlocks = 0;
    const fixture = openHere({
      faults: {
        beforeApply() {
          if (chance.float() > 0.3) return;
          deadlocks += 1;
          throw graphConflict({ reason: 'deadlock' });
        },
      },
      settings: { groupRecordsMax: 10 },
    });
    for (const session of sessions) await fixture.post(...notes(session, 20));
    await drainedInTime(fixture);
    expect(deadlocks).toBeGreaterThan(3);
    await expectAllApplied(fixture);
  });

  it('SC-042 loses the reply to a commit at random: what was applied is not applied again (P5)', async () => {
    const chance = seededChance(42);
    let lost = 0;
    const fixture = openHere({
      faults: {
        afterApply() {
          if (chance.float() > 0.4) return;
          lost += 1;
          throw graphUnavailable({ reason: 'the connection broke behind the commit' });
        },
      },
      settings: { groupRecordsMax: 10 },
    });
    for (const session of sessions) await fixture.post(...notes(session, 20));
    await drainedInTime(fixture);
    expect(lost).toBeGreaterThan(3);
    await expectAllApplied(fixture);
  });

  it('SC-043 is written by a hundred workspaces side by side: each node is in its own (no state between writes)', async () => {
    const fixture = openHere();
    const workspaces = Array.from({ length: 100 }, (_, at) => `ws-${at}`);
    for (const workspace of workspaces) {
      const record = note('same', 0, { tenant: workspace });
      const raw = Buffer.from(
        Buffer.from(record.raw).toString().replace('"ws":"w"', `"ws":"${workspace}"`),
      );
      await fixture.post({ ...record, raw, workspace, key: testKey('same', workspace) });
    }
    await drainedInTime(fixture);
    let checked = 0;
    for await (const chunk of fixture.graph.export())
      for (const line of Buffer.from(chunk).toString().split('\n')) {
        const found = /"tenant\\?":\s?\\?"(ws-\d+)/.exec(line);
        if (found === null) continue;
        const { node } = JSON.parse(line) as { readonly node: { readonly workspace: string } };
        expect(node.workspace).toBe(found[1]);
        checked += 1;
      }
    expect(checked).toBe(workspaces.length);
  });

  it('SC-010 is slow while the process dies: exactly those events drain once more, and nothing doubles (P4, P5)', async () => {
    const world = newWorld();
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    let began = 0;
    const first = openHere({
      world,
      faults: {
        beforeApply: () => {
          began += 1;
          return began > 1 ? held : undefined;
        },
      },
      settings: { groupRecordsMax: 40, writeConcurrency: 1 },
    });
    for (const session of sessions) await first.post(...notes(session, 20));
    await first.clock.advance(5_000);
    expect(began).toBe(2);
    const before = first.queue.totals();
    expect(before.pending).toBeGreaterThan(0);
    first.crash();
    letGo();
    const second = openHere({ world, generation: 2 });
    await drainedInTime(second);
    await expectAllApplied(second);
    expect(second.graph.applied.flat().flatMap(({ steps }) => steps)).toHaveLength(before.pending);
  });

  it('SC-023 is down while the daemon stops: nothing turns from "not yet" into "failed"', async () => {
    const world = newWorld();
    const first = openHere({ world });
    first.graph.setUnavailable(true);
    for (const session of sessions) await first.post(...notes(session, 20));
    await first.clock.advance(10_000);
    const stopped = first.drain.stop(5_000);
    await first.clock.advance(6_000);
    expect((await stopped).isClean).toBe(true);
    expect(first.queue.totals()).toMatchObject({ pending: 160, dead: 0, applied: 0 });
    await first.close();
    open.length = 0;
    const second = openHere({ world, generation: 2 });
    await drainedInTime(second);
    await expectAllApplied(second);
  });
});

describe('a record that the graph refuses', () => {
  const mark = 'the graph hates this';
  const refuse = (group: readonly GroupPart[]): void => {
    if (holdsMark(group, mark)) throw mutationRefused({ session: 's', reason: mark });
  };

  it('SC-012 is number 250 of 500: it alone is dead, its neighbours land, the 202 before stays true', async () => {
    const fixture = openHere({ faults: { beforeApply: refuse } });
    const all = Array.from({ length: 500 }, (_, at) =>
      note('s', at, at === 249 ? { text: mark } : {}),
    );
    await fixture.post(...all);
    await drainedInTime(fixture);
    expect(fixture.queue.totals()).toMatchObject({
      accepted: 500,
      applied: 499,
      dead: 1,
      pending: 0,
    });
    const [letter] = await fixture.queue.readDeadLetters(testKey('s'));
    expect(Buffer.from(letter?.payload ?? []).toString()).toContain(mark);
  });

  it('SC-033 is one of a hundred: one letter with its bytes, error, attempts, times and position, 99 in the graph', async () => {
    const fixture = openHere();
    await fixture.post(...notes('s', 60), contradiction('s', 60), ...notes('s', 39, 61));
    await drainedInTime(fixture);
    expect(fixture.queue.totals()).toMatchObject({ accepted: 100, applied: 99, dead: 1 });
    const letters = await fixture.queue.readDeadLetters(testKey('s'));
    expect(letters).toHaveLength(1);
    expect(letters[0]).toMatchObject({
      error: {
        code: 'EVENT_CONTRADICTS',
        message: expect.stringContaining('names the session itself') as unknown,
      },
      attempts: expect.any(Number) as unknown,
      ts: expect.stringMatching(/^\d{4}-/) as unknown,
      at: expect.any(String) as unknown,
    });
    expect(Buffer.from(letters[0]?.payload ?? []).toString()).toContain('session:fork');
  });

  it('SC-034 stands between records that belong together: the order stays, and nothing of it is left in the graph', async () => {
    const fixture = openHere({ faults: { beforeApply: refuse } });
    await fixture.post(note('s', 0), note('s', 1, { text: mark }), note('s', 2), note('s', 3));
    await drainedInTime(fixture);
    const text: string[] = [];
    for await (const chunk of fixture.graph.export()) text.push(Buffer.from(chunk).toString());
    expect(text.join('')).not.toContain(mark);
    const applied = fixture.graph.applied.flat().flatMap(({ steps }) => steps.map(({ at }) => at));
    expect(applied).toEqual(applied.toSorted());
    expect(applied).toHaveLength(3);
  });

  it('SC-037 cannot even be made a dead letter: it stays in the queue, the status says so, and nothing is thrown away', async () => {
    let isBroken = true;
    const fixture = openHere({
      faults: {
        beforeApply: refuse,
        beforeCommit() {
          if (isBroken) throw queueWriteFailed({ reason: 'a test' });
        },
      },
    });
    await fixture.post(note('s', 0, { text: mark }), note('s', 1));
    await fixture.clock.advance(10 * 60_000);
    expect(fixture.queue.totals()).toMatchObject({ accepted: 2, pending: 2, dead: 0, applied: 0 });
    expect(fixture.drain.status().trouble.map(({ code }) => code)).toContain('QUEUE_WRITE_FAILED');
    isBroken = false;
    await drainedInTime(fixture);
    expect(fixture.queue.totals()).toMatchObject({ applied: 1, dead: 1, pending: 0 });
  });
});
