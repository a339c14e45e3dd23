import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { freePort, isOnPath, newFolder, runServer, type Peer, type Sender } from './peer.ts';

const cached = fileURLToPath(new URL('../../.cache/bin/nats-server', import.meta.url));

function command(): string | undefined {
  if (existsSync(cached)) return cached;
  return isOnPath('nats-server') ? 'nats-server' : undefined;
}

function natsPeer(name: string, setting: string, syncInterval: string | undefined): Peer {
  return {
    name,
    setting,
    missing: () =>
      command() === undefined
        ? 'nats-server is not there (GOBIN=$PWD/.cache/bin go install github.com/nats-io/nats-server/v2@v2.15.2)'
        : undefined,
    async start() {
      const folder = newFolder(name);
      const port = await freePort();
      const sync = syncInterval === undefined ? '' : `sync_interval: ${syncInterval}`;
      const config = join(folder, 'nats.conf');
      writeFileSync(
        config,
        `listen: 127.0.0.1:${port}\njetstream {\n  store_dir: ${JSON.stringify(folder)}\n  ${sync}\n}\n`,
      );
      return runServer({
        name: 'nats-server',
        command: command() ?? 'nats-server',
        args: ['-c', config],
        port,
        folder,
      });
    },
  };
}

export const natsSynced: Peer = natsPeer('jetstream_always', 'sync_interval: always', 'always');
/** Acknowledges before the sync: not comparable, and told all the same. */
export const natsDefault: Peer = natsPeer('jetstream_default', 'default sync_interval', undefined);

/** One connection, 64 publishes that each wait for their acknowledgement, over 64 subjects. */
export async function natsSender(port: number): Promise<Sender> {
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: 'events', subjects: ['events.*'] });
  const stream = jetstream(connection);
  return {
    async send(_session, event, lane) {
      await stream.publish(`events.${lane}`, event);
    },
    close: () => connection.drain(),
  };
}
