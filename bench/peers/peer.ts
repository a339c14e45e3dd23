import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A server that other people would take for the same work, started for one run on a throwaway folder. */
export interface RunningPeer {
  readonly port: number;
  stop(): Promise<void>;
}

export interface Peer {
  readonly name: string;
  /** What it is set to: only what waits for the disk before it acknowledges is comparable. */
  readonly setting: string;
  /** Why it cannot be started here; undefined when it can. */
  missing(): string | undefined;
  start(): Promise<RunningPeer>;
}

/** What `sender.ts` sends through: one event, resolved when the peer has acknowledged it. */
export interface Sender {
  send(session: string, event: string, lane: number): Promise<void>;
  /** Several in one go, where the peer has a way; undefined where it has none. */
  readonly sendMany?: (session: string, events: readonly string[]) => Promise<void>;
  close(): Promise<void>;
}

const startMsMax = 30_000;
const tryEveryMs = 100;

export function isOnPath(command: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;
}

export function newFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `millrace-peer-${name}-`));
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no free port was given');
  return address.port;
}

/** Resolves when something listens; rejects when the process has ended, or after half a minute. */
export async function untilListening(
  name: string,
  port: number,
  child: ChildProcess,
): Promise<void> {
  const giveUpAt = performance.now() + startMsMax;
  while (performance.now() < giveUpAt) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    if (await isListening(port)) return;
    await new Promise((resolve) => {
      setTimeout(resolve, tryEveryMs);
    });
  }
  throw new Error(`${name} did not listen on port ${port} within ${startMsMax} ms`);
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/** Starts a server that runs in the foreground; its folder goes with it. */
export async function runServer(order: {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly port: number;
  readonly folder: string;
}): Promise<RunningPeer> {
  const { name, command, args, port, folder } = order;
  const child = spawn(command, args, { stdio: 'ignore' });
  await untilListening(name, port, child);
  return {
    port,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
