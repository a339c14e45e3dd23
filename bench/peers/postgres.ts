import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort, newFolder, untilListening, type Peer, type Sender } from './peer.ts';

const versions = '/usr/lib/postgresql';

function programs(): string | undefined {
  if (!existsSync(versions)) return undefined;
  const newest = readdirSync(versions)
    .toSorted((a, b) => Number(b) - Number(a))
    .at(0);
  return newest === undefined ? undefined : join(versions, newest, 'bin');
}

/** The server refuses to run as root: then it runs as the user that its package has made. */
function asItsUser(
  command: string,
  args: readonly string[],
): readonly [command: string, args: readonly string[]] {
  return process.getuid?.() === 0
    ? ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', command, ...args]]
    : [command, args];
}

export const postgresPeer: Peer = {
  name: 'postgres',
  setting: 'synchronous_commit on, one commit per insert, 64 connections',
  missing: () =>
    programs() === undefined ? 'PostgreSQL is not there (Debian: postgresql)' : undefined,
  async start() {
    const bin = programs() ?? '';
    const folder = newFolder('postgres');
    chmodSync(folder, 0o777);
    const data = join(folder, 'data');
    const init = spawnSync(
      ...asItsUser(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'postgres']),
    );
    if (init.status !== 0) throw new Error(`initdb failed: ${String(init.stderr)}`);
    const port = await freePort();
    const server = ['-D', data, '-p', String(port), '-k', folder, '-h', '127.0.0.1'];
    const child = spawn(...asItsUser(join(bin, 'postgres'), server), { stdio: 'ignore' });
    await untilListening('postgres', port, child);
    return {
      port,
      async stop() {
        const exited = once(child, 'exit');
        // A fast shutdown: connections are ended, nothing waits for a client.
        child.kill('SIGINT');
        await exited;
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

export async function postgresSender(port: number, lanes: number): Promise<Sender> {
  const order = { host: '127.0.0.1', port, user: 'postgres', database: 'postgres' };
  const clients: Client[] = [];
  for (let lane = 0; lane < lanes; lane++) {
    const client = new Client(order);
    await client.connect();
    clients.push(client);
  }
  await clients[0]?.query(
    'CREATE TABLE IF NOT EXISTS events (id bigserial PRIMARY KEY, session text NOT NULL, body jsonb NOT NULL)',
  );
  return {
    async send(session, event, lane) {
      await clients[lane]?.query({
        name: 'insert',
        text: 'INSERT INTO events (session, body) VALUES ($1, $2)',
        values: [session, event],
      });
    },
    async close() {
      for (const client of clients) await client.end();
    },
  };
}
