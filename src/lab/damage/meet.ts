import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#base';
import { tryDaemon, type ChildDaemon, type RefusedStart } from '../child-daemon.ts';
import { getJson } from '../daemon-client.ts';
import type { Damage } from './harm.ts';
import { changedSessions, differencesIn, faultsOf, nameIn, type Told } from './judge.ts';
import { postAfterwards, victimArguments, victimSessions, type Victim } from './victim.ts';
import { readView, type RootView } from './view.ts';
import { adopt, clearAll } from './ways-out.ts';

export interface Meeting {
  readonly victim: Victim;
  /** The damaged root, and the sound one that it is a copy of. */
  readonly root: string;
  readonly from: string;
  readonly damage: Damage;
  readonly clock: Clock;
}

/**
 * `whole`: as if nothing had been; `refused`: no daemon until the file is right; `stopped`: sessions wait for a way out; `told`: less is there, and it is said;
 * `unseen`: a letter was changed inside of a value of SQLite after a kill, which nobody can see (docs/promises.md).
 */
export type Fate = 'whole' | 'refused' | 'stopped' | 'told' | 'unseen' | 'broken';

export interface Met {
  readonly fate: Fate;
  readonly faults: readonly string[];
  /** Ways out that were taken. */
  readonly ways: readonly string[];
}

const settleMsMax = 30_000;
const settlePollMs = 50;
const exitCodesOfRefusals: readonly (number | null)[] = [70, 74, 75, 77, 78];

/** Starts a daemon on a damaged root and judges what it says, does and leaves (P1 to P7). */
export async function meet(meeting: Meeting): Promise<Met> {
  const daemon = await tryDaemon({ root: meeting.root, args: victimArguments });
  if (!('url' in daemon)) return meetRefusal(meeting, daemon);
  try {
    return await meetDaemon(meeting, daemon);
  } finally {
    await daemon.kill();
  }
}

/** A start that is refused names the file and its next step, and once the file is put right everything is there. */
async function meetRefusal(meeting: Meeting, { code, output }: RefusedStart): Promise<Met> {
  const { root, from, damage, victim, clock } = meeting;
  const faults: string[] = [];
  if (!exitCodesOfRefusals.includes(code)) faults.push(`a start ended with ${code}: ${output}`);
  if (!output.includes(nameIn(damage.path)))
    faults.push(`the refusal does not name ${nameIn(damage.path)}: ${output}`);
  for (const path of unitOf(damage.path)) {
    await rm(join(root, path), { force: true, recursive: true });
    await cp(join(from, path), join(root, path), { force: true, recursive: true }).catch(
      ignoreAbsent,
    );
  }
  const daemon = await tryDaemon({ root, args: victimArguments });
  if (!('url' in daemon))
    return {
      fate: 'refused',
      faults: [...faults, `put right, it is refused: ${daemon.output}`],
      ways: [],
    };
  try {
    const view = await settled(daemon, clock);
    faults.push(...differences(view, victim.view, 'put right, '));
  } finally {
    await daemon.kill();
  }
  return { fate: 'refused', faults, ways: [output.trim().split('\n').at(-1) ?? ''] };
}

function ignoreAbsent(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}

async function meetDaemon(meeting: Meeting, daemon: ChildDaemon): Promise<Met> {
  const { damage, victim, clock } = meeting;
  const view = await settled(daemon, clock);
  const told = (): Told => ({
    stopped: view.stopped,
    words: `${daemon.output()}\n${view.degraded.join('\n')}`,
  });
  const found = faultsOf(damage.path, view, victim.view, told());
  const isUnseen = found.length > 0 && isBlindTo(meeting);
  const faults = isUnseen ? [] : [...found];
  const fate = isUnseen ? 'unseen' : fateOf(view, victim.view);
  const ways = [...(await takeWays(daemon, view, faults))];
  const cleared = await settled(daemon, clock);
  checkCleared(cleared, faults);
  const excused = isRootLoss(told()) ? victimSessions : changedSessions(cleared, victim.view);
  ways.push(...(await checkGoesOn(meeting, daemon, excused, faults)));
  return { fate, faults, ways };
}

function fateOf(view: RootView, expected: RootView): Fate {
  if (view.stopped.size > 0) return 'stopped';
  return changedSessions(view, expected).length > 0 ? 'told' : 'whole';
}

/** What a stop in order has left is known by its SHA-256; after a kill a database is known by its pages alone. */
function isBlindTo({ damage: { path, harm }, from, victim }: Meeting): boolean {
  const isInside = harm === 'flip' || harm === 'nul-run';
  return isInside && from === victim.killed && path === 'graph/graph.db';
}

/** A store of the whole root is an older copy or a new one, and that is told: what it does not know can't be held against any session. */
function isRootLoss({ words }: Told): boolean {
  return /STATE_SET_ASIDE|STATE_BEHIND|JOURNAL_BEHIND/.test(words);
}

async function takeWays(
  daemon: ChildDaemon,
  { stopped, degraded }: RootView,
  faults: string[],
): Promise<readonly string[]> {
  const ways: string[] = [];
  // Another graph stops all sessions, and so names none.
  const isMismatched = degraded.some((line) => line.startsWith('GRAPH_MISMATCH'));
  if (stopped.size === 0 && !isMismatched) return ways;
  if (isMismatched || [...stopped.values()].includes('GRAPH_MISMATCH'))
    ways.push(await adopt(daemon.url));
  const { taken, stuck } = await clearAll(daemon.url);
  faults.push(...stuck.map((text) => `stays stopped: ${text}`));
  return [...ways, ...taken];
}

/** Behind a way out nothing waits, the books balance, and no session stands still (P4). */
function checkCleared({ stopped, books }: RootView, faults: string[]): void {
  for (const [session, code] of stopped) faults.push(`${session} is still stopped: ${code}`);
  if (books.residual !== 0) faults.push(`the residual is ${books.residual} behind the ways out`);
  if (stopped.size === 0 && books.pending !== 0) faults.push(`${books.pending} records still wait`);
}

/** The root goes on: what is sent again changes nothing, what is new is applied, and the next start finds the same. */
async function checkGoesOn(
  { victim, root, clock }: Meeting,
  daemon: ChildDaemon,
  excused: readonly string[],
  faults: string[],
): Promise<readonly string[]> {
  const statuses = await postAfterwards(daemon.url);
  if (statuses.some((status) => status !== 202 && status !== 200))
    faults.push(`posting again was answered ${statuses.join(', ')}`);
  // Only who sends to a session that is at rest meets what is wrong with it.
  const ways = await takeWays(daemon, await settled(daemon, clock), faults);
  const view = await settled(daemon, clock);
  faults.push(...differences(view, victim.viewAfterwards, 'sent again, ', excused));
  checkCleared(view, faults);
  const code = await daemon.stop();
  if (code !== 0) faults.push(`it stopped with ${code}: ${daemon.output()}`);
  const next = await tryDaemon({ root, args: victimArguments });
  if (!('url' in next)) {
    faults.push(`the next start is refused: ${next.output}`);
    return ways;
  }
  try {
    const again = await settled(next, clock);
    faults.push(...differences(again, view, 'at the next start, '));
    checkCleared(again, faults);
    return ways;
  } finally {
    await next.kill();
  }
}

function differences(
  found: RootView,
  expected: RootView,
  when: string,
  except: readonly string[] = [],
): readonly string[] {
  return changedSessions(found, expected)
    .filter((session) => !except.includes(session))
    .map((session) => {
      const all = differencesIn(found.sessions.get(session), expected.sessions.get(session));
      return `${when}${session} differs: ${all.join('; ')}`;
    });
}

/** A daemon at rest: whatever waits belongs to sessions that are stopped. */
async function settled(daemon: ChildDaemon, clock: Clock): Promise<RootView> {
  const until = clock.monotonic() + settleMsMax;
  for (;;) {
    const view = await readView(daemon.url, victimSessions);
    const waits = [...view.sessions].filter(([, { pending }]) => pending > 0);
    const { workers } = await getJson<{ workers: Readonly<Record<string, number>> }>(
      daemon.url,
      '/v1/status',
    );
    const isBusy = Object.keys(workers).some(
      (state) => !['idle', 'stopped', 'quarantined', 'mismatched'].includes(state),
    );
    if (!isBusy && waits.every(([session]) => view.stopped.has(session))) return view;
    if (clock.monotonic() > until) return view;
    await clock.sleep(settlePollMs);
  }
}

/** Files that are one store: put right together or not at all. */
function unitOf(path: string): readonly string[] {
  if (path.startsWith('graph/')) return ['graph'];
  if (path.startsWith('control/')) return ['control'];
  if (path.startsWith('state/')) return ['state'];
  return [path];
}

/** Writes the file, or removes it where `bytes` is undefined. */
export async function put(path: string, bytes: Uint8Array | undefined): Promise<void> {
  await rm(path, { force: true });
  if (bytes !== undefined) await writeFile(path, bytes, { mode: 0o600 });
}
