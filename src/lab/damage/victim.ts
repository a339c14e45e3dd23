import { cp, mkdir, readFile, readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { startDaemon, type ChildDaemon } from '../child-daemon.ts';
import { postLines, waitUntilIdle } from '../daemon-client.ts';
import { demandEqual } from '../demand.ts';
import { makeTurns } from '../workload.ts';
import type { Target } from './harm.ts';
import { readView, type RootView } from './view.ts';

/** Small segments, so that several stand in a journal, and one of them is used again. */
export const victimArguments: readonly string[] = [
  '--set',
  'queue.segment_bytes=128KiB',
  '--log-level',
  'warn',
];
export const victimSessions = ['alder', 'birch', 'cedar', 'dogwood', 'elder', 'fir'] as const;
const drainMsMax = 60_000;

/** A root with everything in it that a root can hold, what it looked like earlier, and how it looks to a daemon that nobody disturbs. */
export interface Victim {
  /** As a killed daemon left it: frames above the mark, and its last lines nowhere but in the journal. */
  readonly killed: string;
  /** As a clean stop left it. */
  readonly stopped: string;
  /** Two earlier states of the same root, for files that are put back. */
  readonly older: readonly string[];
  readonly view: RootView;
  /** After `afterwards` was posted too. */
  readonly viewAfterwards: RootView;
}

/** Everything once more, which changes nothing, and one turn of each session on top. Dead letters are left out: sending one again is a requeue. */
export const afterwards: readonly (readonly string[])[] = victimSessions.map((session) => [
  ...makeTurns(session, 0, turnCount(session)),
  ...makeTurns(session, turnCount(session), 1),
]);

function turnCount(session: string): number {
  return session === 'fir' ? 1 : 4;
}

/** A record that no graph takes: its session is its own parent. */
function poison(session: string, at: number): string {
  const data = { session_id: session, timestamp: '2026-06-01T00:00:00Z', parent_id: session };
  const event_id = `${session}-poison-${at}`;
  return JSON.stringify({ event: 'session:start', workspace: 'work', event_id, data });
}

function note(session: string, id: string, bytes: number): string {
  const data = { session_id: session, timestamp: '2026-06-01T00:01:00Z', text: 'n'.repeat(bytes) };
  return JSON.stringify({ event: 'note', workspace: 'work', event_id: `${session}-${id}`, data });
}

function end(session: string, id: string): string {
  const data = { session_id: session, timestamp: '2026-06-01T00:02:00Z' };
  return JSON.stringify({ event: 'session:end', workspace: 'work', event_id: id, data });
}

/** Makes the victim in an empty folder: three daemons, a few seconds. */
export async function makeVictim(place: string): Promise<Victim> {
  const root = join(place, 'root');
  await mkdir(root);
  const older = [join(place, 'older-0'), join(place, 'older-1')] as const;
  await live(root, 'stop', firstLife);
  await copyRoot(root, older[0]);
  await live(root, 'stop', secondLife);
  await copyRoot(root, older[1]);
  await live(root, 'kill', thirdLife);
  const killed = join(place, 'killed');
  await copyRoot(root, killed);
  const view = await live(root, 'stop', viewWhenIdle);
  const stopped = join(place, 'stopped');
  await copyRoot(root, stopped);
  const viewAfterwards = await live(root, 'stop', async (daemon) => {
    await postAfterwards(daemon.url);
    return viewWhenIdle(daemon);
  });
  return { killed, stopped, older, view, viewAfterwards };
}

async function live<T>(
  root: string,
  ending: 'stop' | 'kill',
  act: (daemon: ChildDaemon) => Promise<T>,
): Promise<T> {
  const daemon = await startDaemon({ root, args: victimArguments });
  try {
    const result = await act(daemon);
    if (ending === 'stop') await daemon.stop();
    return result;
  } finally {
    await daemon.kill();
  }
}

export async function postAfterwards(url: string): Promise<readonly (number | undefined)[]> {
  const statuses = [];
  for (const bodies of afterwards) statuses.push(await postLines(url, bodies));
  return statuses;
}

async function viewWhenIdle(daemon: ChildDaemon): Promise<RootView> {
  await waitUntilIdle(daemon.url, drainMsMax);
  return readView(daemon.url, victimSessions);
}

async function post(daemon: ChildDaemon, bodies: readonly string[]): Promise<void> {
  demandEqual(await postLines(daemon.url, bodies), 202, 'a daemon takes events');
  await waitUntilIdle(daemon.url, drainMsMax);
}

async function firstLife(daemon: ChildDaemon): Promise<void> {
  for (const session of victimSessions)
    if (session !== 'fir') await post(daemon, makeTurns(session, 0, 1));
  await post(daemon, [poison('birch', 0), poison('elder', 0), note('cedar', 'bulk', 300_000)]);
  await post(daemon, [end('elder', 'elder-end')]);
}

async function secondLife(daemon: ChildDaemon): Promise<void> {
  await act(daemon, '/v1/sessions/birch/compact', { min_bytes: 1 });
  for (const session of victimSessions)
    if (session !== 'fir') await post(daemon, makeTurns(session, 1, 1));
  await act(daemon, '/v1/sessions/birch/compact', { min_bytes: 1 });
  await post(daemon, [poison('birch', 1), poison('alder', 1), note('dogwood', 'wide', 40_000)]);
}

/** Elder ends a second time and goes on, cedar ends for good; birch's letters are given up; fir is new and was never checkpointed. */
async function thirdLife(daemon: ChildDaemon): Promise<void> {
  for (const session of victimSessions)
    if (session !== 'fir') await post(daemon, makeTurns(session, 2, 1));
  const discard = { session: 'birch', event: 'session:start', dry_run: false, confirm: 'all' };
  await act(daemon, '/v1/dead-letters/discard', discard);
  await post(daemon, [end('elder', 'elder-end-2')]);
  await post(daemon, [poison('birch', 2)]);
  await act(daemon, '/v1/sessions/dogwood/compact', { min_bytes: 1 });
  for (const session of victimSessions)
    await post(daemon, makeTurns(session, session === 'fir' ? 0 : 3, 1));
  await post(daemon, [end('cedar', 'cedar-end')]);
}

async function act(daemon: ChildDaemon, path: string, body: object): Promise<void> {
  const answer = await fetch(`${daemon.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  demandEqual(answer.status, 200, `POST ${path}: ${await answer.text()}`);
}

/** Holes stay holes, so that segments cost what is in them. */
export function copyRoot(from: string, to: string): Promise<void> {
  return cp(from, to, { recursive: true, preserveTimestamps: true });
}

/** Every file of a root, in order. */
export async function targetsIn(
  root: string,
  older: readonly string[],
): Promise<readonly Target[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .toSorted();
  const targets: Target[] = [];
  for (const path of paths) {
    const bytes = await readFile(join(root, path));
    const hasOlder = (await olderCopy(path, bytes, older)) !== undefined;
    targets.push({ path, bytes: bytes.length, hasOlder });
  }
  return targets;
}

/** The newest older copy of a file that differs from it; undefined when there is none. */
export async function olderCopy(
  path: string,
  bytes: Uint8Array,
  older: readonly string[],
): Promise<Uint8Array | undefined> {
  for (const root of older.toReversed()) {
    if (!(await exists(join(root, path)))) continue;
    const copy = await readFile(join(root, path));
    if (!copy.equals(bytes)) return copy;
  }
  return undefined;
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}
