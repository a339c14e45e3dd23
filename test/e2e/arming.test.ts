import { readdirSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { runLine } from '../support/command-line.ts';
import {
  getJson,
  postLines,
  readBooks,
  readDigest,
  waitUntilIdle,
  type Digest,
} from '../support/daemon-client.ts';

/** A kill leaves much in the journal, a checkpoint comes only at a stop. */
const args = ['--log-level', 'warn'];

interface Status {
  readonly status: string;
  readonly degraded: readonly { readonly code: string; readonly message: string }[];
}

let folder: string;
let root: string;
/** Roots that were stopped in order: after a first life, after a second one as well, and one of somebody else. */
const made = { first: '', second: '', theirs: '' };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-arming-'));
  root = join(folder, 'making');
  await live('first', 3);
  made.first = await saveRoot('first');
  await live('second', 5);
  made.second = await saveRoot('second');
  made.theirs = join(folder, 'theirs');
  await live('theirs', 4, made.theirs);
}, 120_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** A root of its own for each case. */
async function startFrom(copy: string): Promise<void> {
  root = await mkdtemp(join(folder, 'case-'));
  await cp(copy, root, { recursive: true });
}

/** Numbered events with ids; `life` makes those of two lives differ. */
function events(session: string, count: number, from: number, life: string): readonly string[] {
  return Array.from({ length: count }, (_, at) =>
    JSON.stringify({
      event: 'custom:note',
      workspace: 'w',
      event_id: `${session}-${life}-${from + at}`,
      data: {
        session_id: session,
        timestamp: new Date(Date.UTC(2026, 5, 1) + (from + at) * 1000).toISOString(),
        text: `${life} ${from + at}`,
      },
    }),
  );
}

async function withDaemon<T>(
  use: (daemon: ChildDaemon) => Promise<T>,
  options: { readonly at?: string; readonly isKilled?: boolean } = {},
): Promise<T> {
  const daemon = await startDaemon({ root: options.at ?? root, args });
  try {
    const result = await use(daemon);
    if (options.isKilled !== true) expect(await daemon.stop()).toBe(0);
    return result;
  } finally {
    await daemon.kill();
  }
}

async function post(daemon: ChildDaemon, ...bodies: readonly string[]): Promise<void> {
  expect(await postLines(daemon.url, bodies)).toBe(202);
}

/** One life of a root: two sessions of some events each, drained. */
function live(life: string, count: number, at = root): Promise<Digest> {
  return withDaemon(
    async (daemon) => {
      await post(daemon, ...events('a', count, 0, life), ...events('b', count, 0, life));
      await waitUntilIdle(daemon.url);
      return readDigest(daemon.url);
    },
    { at },
  );
}

/** Ids of the events of one life that the graph holds, each as often as it does. */
async function eventsInGraph(daemon: ChildDaemon, life: string): Promise<readonly string[]> {
  const exported = await (await fetch(`${daemon.url}/v1/graph/export`)).text();
  const found = exported.matchAll(/\{"node":\{"id":"\w+__custom_note__\d+__(\w+-(\w+)-\d+)"/g);
  return [...found].filter((match) => match[2] === life).map((match) => match[1] ?? '');
}

/** Puts folders of another copy in the place of a root's own. */
async function putInPlace(from: string, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    await rm(join(root, name), { recursive: true, force: true });
    await cp(join(from, name), join(root, name), { recursive: true });
  }
}

async function saveRoot(name: string): Promise<string> {
  const copy = join(folder, name);
  await cp(root, copy, { recursive: true });
  return copy;
}

/**
 * The one course of all cases: the mismatch is told by status, probe, doctor and log before anything is folded, events are taken all the same, and
 * after an adopt every one of them is applied. Returns what the daemon says at the end.
 */
async function noticedThenAdopted(expected: {
  readonly stopped: number;
  /** What a start has found besides, of no session and for no adopt to mend: it is told until the next start. */
  readonly told?: readonly string[];
}): Promise<Digest> {
  const told = expected.told ?? [];
  const fresh = [...events('a', 3, 50, 'new'), ...events('b', 3, 50, 'new')];
  return withDaemon(async (daemon) => {
    const before = await readBooks(daemon.url);
    await post(daemon, ...fresh);
    const readStatus = (): Promise<Status> => getJson<Status>(daemon.url, '/v1/status');
    const readStopped = async (): Promise<Status['degraded']> =>
      (await readStatus()).degraded.filter(({ code }) => !told.includes(code));
    await expect.poll(async () => (await readStopped()).length).toBe(expected.stopped);
    const status = await readStatus();
    expect(status.status).toBe('degraded');
    expect(status.degraded.map(({ code }) => code)).toEqual(expect.arrayContaining([...told]));
    for (const { code, message } of await readStopped()) {
      expect(code).toBe('GRAPH_MISMATCH');
      expect(message).toMatch(/drained/);
      expect(message).toContain('graph adopt');
    }
    const ready = await fetch(`${daemon.url}/readyz`);
    expect(ready.status, 'appends go on, so it is ready').toBe(200);
    expect(await ready.text()).toContain('GRAPH_MISMATCH');
    const doctor = await runLine('doctor', '--root', root);
    expect(doctor).toMatchObject({ code: 1 });
    expect(doctor.out).toContain('GRAPH_MISMATCH');
    await expect.poll(() => daemon.output()).toContain('GRAPH_MISMATCH');
    const waiting = await readBooks(daemon.url);
    expect(waiting.accepted).toBe(before.accepted + fresh.length);
    expect(waiting.residual).toBe(0);
    const isAllStopped = expected.stopped === 1;
    if (isAllStopped) expect(waiting.applied).toBe(before.applied);
    const dry = await runLine('graph', 'adopt', '--root', root);
    expect(dry.code, dry.err).toBe(0);
    expect(await readStopped()).toHaveLength(expected.stopped);
    const done = await runLine('graph', 'adopt', '--yes', '--root', root);
    expect(done.code, done.err).toBe(0);
    await waitUntilIdle(daemon.url);
    expect(await readBooks(daemon.url)).toMatchObject({ pending: 0, dead: 0, residual: 0 });
    expect(await readStopped()).toEqual([]);
    // Nothing that was acknowledged meanwhile was taken for applied already.
    const fresher = ['a', 'b'].flatMap((session) =>
      [50, 51, 52].map((at) => `${session}-new-${at}`),
    );
    expect(await eventsInGraph(daemon, 'new')).toEqual(fresher);
    return readDigest(daemon.url);
  });
}

describe('a daemon whose root and graph were exchanged', () => {
  it('notices an older copy of its root beside a newer graph (C37, G42)', async () => {
    await startFrom(made.second);
    await putInPlace(made.first, 'queue', 'state', 'control');
    // Other events than those that the graph has at these places.
    await noticedThenAdopted({ stopped: 2, told: ['STORE_CHANGED'] });
  }, 60_000);

  it('notices a queue alone that is older: ids of records that it lost are no duplicates (C37, QFS-13)', async () => {
    await startFrom(made.second);
    await putInPlace(made.first, 'queue');
    await noticedThenAdopted({ stopped: 2, told: ['JOURNAL_BEHIND'] });
    await withDaemon(async (daemon) => {
      const { accepted } = await readBooks(daemon.url);
      await post(daemon, ...events('a', 5, 0, 'second'));
      await waitUntilIdle(daemon.url);
      expect((await readBooks(daemon.url)).accepted).toBe(accepted + 5);
    });
  }, 60_000);

  it('notices an emptied graph, and takes the files again after the adopt (C39)', async () => {
    await startFrom(made.first);
    await rm(join(root, 'graph'), { recursive: true });
    await noticedThenAdopted({ stopped: 1 });
    await withDaemon(async (daemon) => {
      await post(daemon, ...events('a', 3, 0, 'first'), ...events('b', 3, 0, 'first'));
      await waitUntilIdle(daemon.url);
      expect(await readBooks(daemon.url)).toMatchObject({ accepted: 18, applied: 18, residual: 0 });
      expect(await eventsInGraph(daemon, 'first')).toHaveLength(6);
    });
  }, 60_000);

  it('notices the graph of another root (C39)', async () => {
    await startFrom(made.first);
    await putInPlace(made.theirs, 'graph');
    await noticedThenAdopted({ stopped: 1, told: ['STORE_CHANGED'] });
  }, 60_000);

  it('notices rows of another root in a graph of the right id (C38)', async () => {
    await startFrom(made.first);
    await putInPlace(made.theirs, 'graph');
    const idOf = async (at: string): Promise<string> =>
      (JSON.parse(await readFile(join(at, 'queue', 'format.json'), 'utf8')) as { graph_id: string })
        .graph_id;
    const path = join(root, 'queue', 'format.json');
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace(await idOf(root), await idOf(made.theirs)));
    await noticedThenAdopted({ stopped: 2, told: ['STORE_CHANGED'] });
  }, 60_000);

  it('notices a graph that lost its last commits (C39)', async () => {
    await startFrom(made.second);
    await putInPlace(made.first, 'graph');
    await noticedThenAdopted({ stopped: 2, told: ['STORE_CHANGED'] });
  }, 60_000);

  it('folds again, and changes nothing twice, when the journal alone was lost (QFS-13, P5)', async () => {
    root = join(folder, 'lost');
    const digest = await withDaemon(
      async (daemon) => {
        await post(daemon, ...events('a', 4, 0, 'first'), ...events('b', 4, 0, 'first'));
        await waitUntilIdle(daemon.url);
        // The session files follow the journal within a moment; its loss then takes the commits alone.
        for (const session of ['a', 'b']) await expect.poll(() => linesOf(session)).toBe(4);
        return readDigest(daemon.url);
      },
      { isKilled: true },
    );
    await rm(join(root, 'queue', 'journal'), { recursive: true });
    await withDaemon(async (daemon) => {
      await post(daemon, ...events('a', 1, 60, 'new'));
      await waitUntilIdle(daemon.url);
      expect(await readBooks(daemon.url)).toMatchObject({ accepted: 9, applied: 9, residual: 0 });
      const { nodes } = await readDigest(daemon.url);
      expect(nodes).toBe(digest.nodes + 1);
    });
  }, 60_000);
});

/** Whole lines in the log of a session. */
async function linesOf(session: string): Promise<number> {
  const sessions = join(root, 'queue', 'sessions');
  for (const shard of readdirSync(sessions)) {
    const log = join(sessions, shard, `w~${session}`, 'log.000000.jsonl');
    const found = await stat(log).catch(() => undefined);
    if (found !== undefined) return (await readFile(log, 'utf8')).split('\n').length - 1;
  }
  return 0;
}
