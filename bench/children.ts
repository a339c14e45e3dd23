import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LoadOrder, LoadResult } from './load.ts';
import type { PeerOrder } from './peers/sender.ts';

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export interface ServerChild {
  readonly port: number;
  readonly pid: number;
  readonly startMs: number;
  stop(): Promise<void>;
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += String(chunk);
    const end = text.indexOf('\n');
    if (end >= 0) return text.slice(0, end);
  }
  throw new Error(`the child ended before it was ready: ${text}`);
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

/** The server without a log. */
export async function startBaseline(): Promise<ServerChild> {
  const began = performance.now();
  const child = spawn(process.execPath, [here('./baseline.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { port } = JSON.parse(await firstLine(child.stdout)) as { port: number };
  return {
    port,
    pid: child.pid ?? 0,
    startMs: performance.now() - began,
    stop: () => stopChild(child),
  };
}

export interface DaemonChild extends ServerChild {
  readonly root: string;
  /** Stops the daemon and removes its throwaway root. */
  dispose(): Promise<void>;
}

/** A real daemon on a throwaway root, or on the root of an earlier one. */
export async function startDaemon(
  options: { readonly root?: string; readonly args?: readonly string[] } = {},
): Promise<DaemonChild> {
  const root = options.root ?? mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [
      here('../bin/millrace.js'),
      'serve',
      '--root',
      root,
      '--port',
      '0',
      '--ready-fd',
      '3',
      ...(options.args ?? []),
    ],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] },
  );
  const ready = JSON.parse(await firstLine(child.stdio[3] as NodeJS.ReadableStream)) as {
    url: string;
  };
  const port = Number(new URL(ready.url).port);
  const stop = (): Promise<void> => stopChild(child);
  return {
    root,
    port,
    pid: child.pid ?? 0,
    startMs: performance.now() - began,
    stop,
    async dispose() {
      await stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Runs the load in a process of its own. */
export async function runLoad(order: LoadOrder): Promise<LoadResult> {
  const child = spawn(process.execPath, [here('./load.ts'), 'run', JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(await firstLine(child.stdout)) as LoadResult;
}

/** The same for a peer. */
export async function runPeerLoad(order: PeerOrder): Promise<LoadResult> {
  const child = spawn(process.execPath, [here('./peers/sender.ts'), JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(await firstLine(child.stdout)) as LoadResult;
}

/** One value of `/metrics`; 0 when the series is not there yet. */
export async function readMetric(port: number, name: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const line = (await answer.text()).split('\n').find((text) => text.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.split(' ')[1]);
}

export async function getJson(port: number, path: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** Ticks of `/proc` are hundredths of a second. */
const tickUs = 10_000;

/** CPU time of a process's first thread so far, in microseconds. */
export function mainThreadUs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickUs;
}
