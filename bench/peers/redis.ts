import { createClient } from 'redis';
import { freePort, isOnPath, newFolder, runServer, type Peer, type Sender } from './peer.ts';

export const redisPeer: Peer = {
  name: 'redis',
  setting: 'appendfsync always, XADD',
  missing: () =>
    isOnPath('redis-server') ? undefined : 'redis-server is not there (Debian: redis-server)',
  async start() {
    const folder = newFolder('redis');
    const port = await freePort();
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
    return runServer({
      name: 'redis-server',
      command: 'redis-server',
      args: [...args, '--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
      port,
      folder,
    });
  },
};

/** One connection: the client sends what waits in one write, which is its best. */
export async function redisSender(port: number): Promise<Sender> {
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  await client.connect();
  return {
    async send(session, event) {
      await client.xAdd(session, '*', { event });
    },
    async sendMany(session, events) {
      await Promise.all(events.map((event) => client.xAdd(session, '*', { event })));
    },
    async close() {
      await client.close();
    },
  };
}
