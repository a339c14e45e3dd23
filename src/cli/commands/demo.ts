import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { systemClock } from '#base';
import { createClient, type Client } from '../client.ts';
import { postFile } from '../post/post-file.ts';
import { productFolder } from '../product.ts';
import { consolePrinter, plainText, table, type Printer } from '../print.ts';

/**
 * `npm run demo`: the main job on the embedded defaults, on a throwaway root: a real daemon in a process of its own, recorded sessions of real
 * agents over HTTP, the graph that comes of them, one poison event in the dead letters, a clean stop.
 */

const workspace = 'demo';
const sessionsFolder = join(productFolder, 'test', 'data', 'amplifier');
const drainDeadlineMs = 25_000;

/** A fork whose parent is the session itself contradicts itself: it is valid JSON, and no graph can hold it (D28). */
const poison = {
  event: 'session:fork',
  workspace,
  event_id: 'demo-poison',
  data: {
    session_id: 'ouroboros',
    parent: 'ouroboros',
    timestamp: '2026-11-30T09:00:00Z',
  },
};

interface QueryAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

interface StatusAnswer {
  readonly accepted: number;
  readonly applied: number;
  readonly pending: number;
  readonly dead: number;
  readonly residual: number;
}

interface LetterList {
  readonly dead_letters: readonly {
    readonly id: string;
    readonly session_id: string;
    readonly error: { readonly code: string; readonly message: string };
  }[];
}

async function startDaemon(
  root: string,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const program = join(productFolder, 'bin', 'millrace.js');
  const child = spawn(
    process.execPath,
    [program, 'serve', '--root', root, '--port', '0', '--ready-fd', '3', '--log-level', 'warn'],
    { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] },
  );
  let text = '';
  for await (const chunk of child.stdio[3] as NodeJS.ReadableStream) {
    text += String(chunk);
    if (text.includes('\n')) break;
  }
  if (!text.includes('\n'))
    throw new Error('the daemon ended before it was ready; its log is above');
  const { url } = JSON.parse(text.slice(0, text.indexOf('\n'))) as { url: string };
  return { child, url };
}

async function postSessions(client: Client, printer: Printer): Promise<void> {
  const files = readdirSync(sessionsFolder)
    .filter((name) => /\.(jsonl|ndjson)$/.test(name) && !/invalid|transcript|foundation/.test(name))
    .map((name) => join(sessionsFolder, name));
  for (const file of files) {
    const result = await postFile(client, file, { workspace, clock: systemClock, printer });
    printer.out(
      `  posted ${basename(file)}: ${result.queued} stored, ${result.duplicates} known already, ${result.rejected} refused`,
    );
  }
  const answer = await client.send('POST', '/v1/events', Buffer.from(JSON.stringify(poison)), {
    'content-type': 'application/json',
  });
  printer.out(
    `  posted one poison event: ${answer.status} (it is a valid event; no graph can hold it)`,
  );
}

async function drain(client: Client, printer: Printer): Promise<StatusAnswer> {
  const deadline = systemClock.monotonic() + drainDeadlineMs;
  for (;;) {
    const status = (await client.call({ method: 'GET', path: '/v1/status' }, {})) as StatusAnswer;
    printer.progress(
      `  ${status.applied} of ${status.accepted} applied, ${status.pending} pending, ${status.dead} dead`,
    );
    if (status.pending === 0) return status;
    if (systemClock.monotonic() > deadline)
      throw new Error(`not drained within ${drainDeadlineMs} ms`);
    await systemClock.sleep(100);
  }
}

async function query(
  client: Client,
  name: string,
  parameters: Readonly<Record<string, unknown>> = {},
): Promise<QueryAnswer> {
  return (await client.call(
    { method: 'POST', path: '/v1/graph/query/{name}' },
    { name, parameters },
  )) as QueryAnswer;
}

/** Rows of `session-tree` as an indented tree: depth, kind, what. */
export function treeText({ columns, rows }: QueryAnswer, linesMax = 40): string {
  const depth = columns.indexOf('depth');
  const kind = columns.indexOf('kind');
  const name = columns.indexOf('name');
  const id = columns.indexOf('id');
  const lines = rows
    .slice(0, linesMax)
    .map((row) =>
      `  ${'  '.repeat(Number(row[depth] ?? 0))}${plainText(row[kind])}  ${plainText(row[name] ?? row[id])}`.trimEnd(),
    );
  return rows.length > linesMax
    ? [...lines, `  … and ${rows.length - linesMax} more`].join('\n')
    : lines.join('\n');
}

/** Only these columns, in this order: a screen is narrow. */
function pick({ columns, rows }: QueryAnswer, wanted: readonly string[]): string {
  const places = wanted.map((column) => columns.indexOf(column));
  return table(
    wanted,
    rows.map((row) => places.map((at) => row[at])),
  );
}

const views = [
  ['Tool calls by name', 'tool-calls', ['tool', 'calls', 'failures', 'sessions', 'average_ms']],
  ['Files touched', 'files-touched', ['path', 'touches', 'tools', 'last_at']],
] as const;

interface StatsAnswer {
  readonly nodes: number;
  readonly edges: number;
  readonly labels: Readonly<Record<string, number>>;
}

async function showGraph(client: Client, printer: Printer): Promise<void> {
  const { nodes, edges, labels } = (await client.call(
    { method: 'GET', path: '/v1/graph/stats' },
    {},
  )) as StatsAnswer;
  const count = (label: string): number => labels[label] ?? 0;
  printer.out(
    `\nThe graph: ${nodes} nodes, ${edges} edges; ${count('Session')} sessions, ${count('OrchestratorRun')} runs, ${count('Iteration')} iterations, ${count('ToolCall')} tool calls, ${count('Event')} events`,
  );
  const sessions = await query(client, 'sessions');
  printer.out(
    `\nSessions in the graph\n${pick(sessions, ['kind', 'status', 'events', 'session'])}`,
  );
  for (const [title, name, columns] of views) {
    const answer = await query(client, name);
    printer.out(`\n${title}\n${answer.rows.length === 0 ? '  none' : pick(answer, columns)}`);
  }
  const session = mostBranched(sessions);
  printer.out(
    `\nOne session as a tree\n${treeText(await query(client, 'session-tree', { session }))}`,
  );
}

/** The session that is the parent of most others: it has the most to show. */
function mostBranched({ columns, rows }: QueryAnswer): string {
  const [own, parent] = [columns.indexOf('session'), columns.indexOf('parent')];
  const childCount = (session: unknown): number =>
    rows.filter((row) => row[parent] === session).length;
  const best = rows.toSorted((a, b) => childCount(b[own]) - childCount(a[own]))[0];
  return plainText(best?.[own]);
}

async function showDeadLetters(client: Client, printer: Printer): Promise<void> {
  const { dead_letters } = (await client.call(
    { method: 'GET', path: '/v1/dead-letters' },
    {},
  )) as LetterList;
  printer.out('\nDead letters');
  for (const letter of dead_letters)
    printer.out(`  ${letter.session_id}: ${letter.error.code}: ${letter.error.message}`);
  if (dead_letters.length === 0) throw new Error('the poison event is not in the dead letters');
}

async function stopDaemon(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const [code] = (await exited) as [number | null];
  if (code !== 0) throw new Error(`the daemon ended with ${String(code)} instead of 0`);
}

export async function demo(): Promise<void> {
  const printer = consolePrinter();
  const root = mkdtempSync(join(tmpdir(), 'millrace-demo-'));
  printer.out(`A daemon on the throwaway root ${root}`);
  const { child, url } = await startDaemon(root);
  try {
    const client = createClient({ url });
    await postSessions(client, printer);
    const status = await drain(client, printer);
    printer.out(
      `  accepted ${status.accepted} = applied ${status.applied} + pending ${status.pending} + dead ${status.dead}; residual ${status.residual}`,
    );
    await showGraph(client, printer);
    await showDeadLetters(client, printer);
  } finally {
    await stopDaemon(child);
    rmSync(root, { recursive: true, force: true });
  }
  printer.out('\nStopped cleanly. Start your own with "npx millrace serve --root DIR".');
}
