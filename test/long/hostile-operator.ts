/**
 * P4, SC-035, ING-717: thousands of dead letters, and an operator who requeues, discards, edits, deletes, prunes, compacts, gives disk back and lets
 * things go while the daemon is killed at random. After each start the books balance, and every event stands for one letter, one discard or one record.
 *
 *     node test/long/hostile-operator.ts [--rounds 200] [--seed 1]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { seededChance } from '../support/chance.ts';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '200' }, seed: { type: 'string', default: '1' } },
});
const chance = seededChance(Number(values.seed));
const below = (most: number): number => Math.floor(chance.float() * most);
const isLikely = (share: number): boolean => chance.float() < share;

const kinds = [
  ['session:fork', 'parent'],
  ['session:fork', 'parent_id'],
  ['session:start', 'parent'],
  ['session:start', 'parent_id'],
  ['delegate:agent_spawned', 'sub_session_id'],
] as const;
/** Sessions of the last one are deleted; of the others everything must stay. */
const workspaces = ['a', 'b', 'deleted'] as const;
const sessionsEach = 24;
const settledMsMax = 60_000;

type Row = Readonly<Record<string, unknown>>;

const root = mkdtempSync(join(tmpdir(), 'millrace-hostile-'));
let daemon: ChildDaemon;
let count = 0;
const failures: string[] = [];
/** Events that were acknowledged, by workspace and session; those whose answer a kill took may be there or not. */
const acked = new Map<string, number>();
const unsure = new Map<string, number>();

async function ask(method: string, path: string, body?: object): Promise<Row> {
  const answer = await fetch(`${daemon.url}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  return (await answer.json()) as Row;
}

async function all(path: string, member: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let token = ''; ;) {
    const page = await ask('GET', `${path}limit=1000${token}`);
    rows.push(...((page[member] ?? []) as readonly Row[]));
    const next = page['next_page_token'];
    if (typeof next !== 'string') return rows;
    token = `&page_token=${encodeURIComponent(next)}`;
  }
}

async function post(events: number): Promise<void> {
  const bodies = Array.from({ length: events }, () => {
    const n = count++;
    const [event, member] = kinds[n % kinds.length] ?? kinds[0];
    const session = `s${n % sessionsEach}`;
    const workspace = workspaces[n % workspaces.length] ?? 'a';
    const data = { session_id: session, timestamp: '2026-06-01T00:00:00Z', n, [member]: session };
    return { event, workspace, event_id: `n${n}`, data };
  });
  const note = (book: Map<string, number>): void => {
    for (const { workspace, data } of bodies) {
      const name = `${workspace}/${data.session_id}`;
      book.set(name, (book.get(name) ?? 0) + 1);
    }
  };
  try {
    const answer = await fetch(`${daemon.url}/v1/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(bodies),
    });
    // Of a request that names a session which is being deleted nothing is taken.
    if (answer.status === 202) note(acked);
    else if (answer.status !== 503) failures.push(`events were answered ${answer.status}`);
  } catch {
    note(unsure);
  }
}

async function discard(filter: object): Promise<void> {
  const path = '/v1/dead-letters/discard';
  const { confirm } = await ask('POST', path, { ...filter, dry_run: true });
  if (typeof confirm === 'string') await ask('POST', path, { ...filter, dry_run: false, confirm });
}

async function edit(workspace: string): Promise<void> {
  const letters = await all(`/v1/dead-letters?workspace=${workspace}&`, 'dead_letters');
  for (const { id } of letters.slice(0, 10)) {
    const path = `/v1/dead-letters/${encodeURIComponent(String(id))}`;
    const { editable } = await ask('GET', path);
    if (typeof editable !== 'string') continue;
    const event = JSON.parse(editable) as { readonly data: Record<string, unknown> };
    for (const [, member] of kinds) Reflect.deleteProperty(event.data, member);
    await ask('POST', `${path}/edit`, { event: JSON.stringify(event) });
  }
}

/** What an operator does at once; the kill takes the answers. */
function acts(): Promise<unknown> {
  const workspace = workspaces[below(workspaces.length)] ?? 'a';
  const [event] = kinds[below(kinds.length)] ?? kinds[0];
  const session = `s${below(sessionsEach)}`;
  const some: readonly (readonly [share: number, act: () => Promise<unknown>])[] = [
    [0.3, () => ask('POST', '/v1/dead-letters/requeue', { workspace })],
    [0.3, () => discard({ workspace, session })],
    [0.2, () => discard({ workspace, event })],
    [0.4, () => edit(workspace)],
    [0.4, () => ask('DELETE', `/v1/sessions/${session}?workspace=deleted`)],
    [0.3, () => ask('POST', '/v1/sessions/prune', { ...old, workspace: 'deleted', limit: 4 })],
    [0.4, () => ask('POST', '/v1/vacuum', {})],
    [0.3, () => ask('POST', '/v1/queue/compact', { min_bytes: 1 })],
    [0.3, () => ask('POST', '/v1/retention/run', { ...none, part: 'letters' })],
    [0.2, () => ask('POST', '/v1/retention/run', { ...none, part: 'archives' })],
    [0.4, () => post(60)],
  ];
  return Promise.allSettled(some.filter(([share]) => isLikely(share)).map(([, act]) => act()));
}
const old = { older_than_ms: 3_600_000, dry_run: false };
const none = { max_bytes: 0, dry_run: false };

/** What is wrong with the books and the letters as they are now. */
async function wrongs(): Promise<readonly string[]> {
  const status = await ask('GET', '/v1/status');
  const found: string[] = [];
  if (status['residual'] !== 0) found.push(`residual ${String(status['residual'])}`);
  const degraded = status['degraded'] as readonly Row[];
  if (degraded.length > 0) found.push(JSON.stringify(degraded));
  const jobs = await all('/v1/jobs?', 'jobs');
  if (status['pending'] !== 0 || jobs.some(({ state }) => state === 'running'))
    found.push('work is left');
  const sessions = await all('/v1/sessions?', 'sessions');
  let accepted = 0;
  for (const row of sessions) {
    const of = (name: string): number => Number(row[name]);
    accepted += of('accepted');
    const sum = of('applied') + of('dead') + of('discarded') + of('pending');
    if (of('accepted') !== sum) found.push(`books of ${JSON.stringify(row)}`);
    const name = `${String(row['workspace'])}/${String(row['session_id'])}`;
    const least = acked.get(name) ?? 0;
    const most = least + (unsure.get(name) ?? 0);
    const isKept = row['workspace'] !== 'deleted';
    if (isKept && (of('accepted') < least || of('accepted') > most))
      found.push(`${name} has ${of('accepted')}, acknowledged were ${least} to ${most}`);
  }
  if (accepted !== status['accepted']) found.push(`sessions have ${accepted} records`);
  const names = new Set(
    sessions.map((row) => `${String(row['workspace'])}/${String(row['session_id'])}`),
  );
  for (const name of acked.keys())
    if (!name.startsWith('deleted/') && !names.has(name)) found.push(`${name} is lost`);
  return [...found, ...(await lettersWrong(Number(status['dead'])))];
}

/** Each event is at most one live letter, and none that was discarded. */
async function lettersWrong(dead: number): Promise<readonly string[]> {
  const text = await (await fetch(`${daemon.url}/v1/dead-letters/export?retired=true`)).text();
  const live = new Set<string>();
  const settled = new Set<string>();
  const found: string[] = [];
  let records = 0;
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const letter = JSON.parse(line) as Row;
    const { data } = JSON.parse(String(letter['payload'])) as { data: { n: number } };
    const name = `${String(letter['workspace'])} ${data.n}`;
    if (letter['state'] === 'live') {
      records += 1;
      if (live.has(name)) found.push(`event ${name} has two live letters`);
      live.add(name);
    } else if (letter['state'] === 'discarded') settled.add(name);
  }
  if (records !== dead) found.push(`${records} live letters, the books count ${dead}`);
  for (const name of live)
    if (settled.has(name) && !name.startsWith('deleted '))
      found.push(`event ${name} is live and discarded`);
  return found;
}

/** A start carries on what was cut off; what is wrong after that stays wrong. */
async function check(round: number): Promise<void> {
  let found: readonly string[] = [];
  for (let waitedMs = 0; waitedMs < settledMsMax; waitedMs += 200) {
    found = await wrongs();
    if (found.length === 0) return;
    await after(200);
  }
  failures.push(...found.map((one) => `round ${round}: ${one}`));
}

async function killAndStart(): Promise<void> {
  await daemon.kill();
  daemon = await startDaemon({ root, env: { MILLRACE_QUEUE__ARCHIVE: 'true' } });
}

daemon = await startDaemon({ root, env: { MILLRACE_QUEUE__ARCHIVE: 'true' } });
for (let at = 0; at < 24; at += 1) await post(100);
await check(0);
const rounds = Number(values.rounds);
for (let round = 1; round <= rounds && failures.length === 0; round += 1) {
  const going = acts();
  await after(20 + below(isLikely(0.3) ? 2500 : 600));
  await killAndStart();
  await going;
  if (isLikely(0.3)) {
    await after(below(300));
    await killAndStart();
  }
  await check(round);
}
await daemon.kill();
if (failures.length === 0) rmSync(root, { recursive: true });
const passed = failures.length === 0;
const counts = { rounds, events: count, ...(passed ? {} : { root }) };
process.stdout.write(`${JSON.stringify({ passed, counts, failures })}\n`);
process.exitCode = passed ? 0 : 1;
