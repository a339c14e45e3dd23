import { Agent, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { startDaemon } from '../support/child-daemon.ts';
import { readBooks, waitUntilIdle } from '../support/daemon-client.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

function eventOf(at: number): string {
  const data = { session_id: `s${at}`, timestamp: '2026-01-01T00:00:00Z' };
  return JSON.stringify({ event: 'test:event', workspace: 'w', event_id: `e${at}`, data });
}

/** Undefined when the connection was closed unheard. */
function post(url: string, agent: Agent, body: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json' };
    const asked = request(`${url}/v1/events`, { method: 'POST', agent, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
      answer.on('error', () => resolve(undefined));
    });
    asked.on('error', () => resolve(undefined));
    asked.end(body);
  });
}

describe('a daemon with few file descriptors', () => {
  it('keeps enough of them for its files, whatever the crowd of connections, and loses nothing (P9, EMFILE)', () =>
    withTemporaryDirectory(async (root) => {
      const daemon = await startDaemon({ root, before: 'ulimit -n 90' });
      const agent = new Agent({ keepAlive: true, maxSockets: 80 });
      try {
        const events = 400;
        const left = Array.from({ length: events }, (_, at) => at);
        const refusals = new Set<number>();
        const sender = async (): Promise<void> => {
          for (let at = left.shift(); at !== undefined; at = left.shift()) {
            const status = await post(daemon.url, agent, eventOf(at));
            if (status === 202 || status === 200) continue;
            if (status !== undefined) refusals.add(status);
            left.push(at);
            // As a client that is told "later" does.
            await new Promise((resolve) => {
              setTimeout(resolve, 50);
            });
          }
        };
        await Promise.all(Array.from({ length: 80 }, sender));
        expect([...refusals].filter((status) => status !== 503)).toEqual([]);
        agent.destroy();
        // Its connections are gone a moment later; until then one more may be closed unheard.
        const isHeard = (): Promise<boolean> =>
          fetch(`${daemon.url}/livez`).then(
            ({ ok }) => ok,
            () => false,
          );
        await expect.poll(isHeard).toBe(true);
        await waitUntilIdle(daemon.url);
        expect(await readBooks(daemon.url)).toMatchObject({
          accepted: events,
          applied: events,
          dead: 0,
          residual: 0,
        });
        expect(daemon.output()).toContain('CONNECTIONS_FULL');
        expect(await daemon.stop(), daemon.output()).toBe(0);
      } finally {
        agent.destroy();
        await daemon.kill();
      }
    }));
});
