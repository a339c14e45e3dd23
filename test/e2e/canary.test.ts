import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

/** Seeded, each where a client could put it. */
const canary = {
  wrongToken: 'mrt_canary-wrong-token',
  payload: 'canary-payload',
  poison: 'canary-poison',
  broken: 'canary-broken',
  member: 'canary-member',
  query: 'canary-query',
  cookie: 'canary-cookie',
} as const;

interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly body?: string;
  readonly type?: string;
  readonly token?: string;
}

const event = (session: string, name: string, data: object = {}): string =>
  JSON.stringify({
    event: name,
    workspace: 'w',
    event_id: `${session}-${name}`,
    data: { session_id: session, timestamp: '2026-05-01T10:00:00Z', ...data },
  });

/** Answers of a run, as text. */
function client(daemon: ChildDaemon): { answers: string[]; send: (sent: Sent) => Promise<string> } {
  const answers: string[] = [];
  return {
    answers,
    async send({ path, method = 'POST', body, type = 'application/json', token }) {
      const answer = await fetch(`${daemon.url}${path}`, {
        method,
        headers: {
          cookie: `session=${canary.cookie}`,
          ...(body === undefined ? {} : { 'content-type': type }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        ...(body === undefined ? {} : { body }),
      });
      const text = await answer.text();
      answers.push(`${method} ${path} ${answer.status} ${text}`);
      return text;
    },
  };
}

/** One of every kind of request that carries something secret or private, accepted and refused. */
async function exercise(daemon: ChildDaemon): Promise<{ secret: string; answers: string[] }> {
  const { answers, send } = client(daemon);
  const operator = {
    name: 'ops',
    scopes: ['ops:read', 'ops:write', 'ingest:write', 'ingest:read'],
  };
  const made = await send({ path: '/v1/tokens', body: JSON.stringify(operator) });
  answers.pop();
  const secret = (JSON.parse(made) as { token: string }).token;
  const token = secret;
  const events = '/v1/events';
  await send({ path: events, body: event('s', 'session:start', { text: canary.payload }), token });
  await send({ path: events, body: event('s', 'session:start', { text: 'other' }), token });
  await send({
    path: events,
    body: event('p', 'session:fork', { parent: 'p', text: canary.poison }),
    token,
  });
  await send({ path: events, body: `{"event": ${canary.broken}`, token });
  await send({
    path: events,
    body: JSON.stringify({ event: 1, [canary.member]: canary.member }),
    token,
  });
  await send({
    path: events,
    body: `${event('n', 'a')}\n{"${canary.broken}`,
    type: 'application/x-ndjson',
    token,
  });
  await send({ path: events, body: event('s', 'x'), token: canary.wrongToken });
  await send({ path: `/v1/status?token=${canary.query}`, method: 'GET', token });
  await send({ path: `/v1/nothing/${canary.query}`, method: 'GET', token });
  await send({ path: '/v1/tokens', body: JSON.stringify(operator), token });
  await send({ path: '/v1/tokens', body: JSON.stringify({ token: canary.member }), token });
  await send({ path: '/v1/wait?until=idle', method: 'GET', token });
  await send({ path: '/v1/tokens', method: 'GET', token });
  await send({ path: '/v1/audit', method: 'GET', token });
  for (const path of ['/status', '/version', '/metrics', '/v1/dead-letters'])
    await send({ path, method: 'GET', token });
  await send({ path: '/queues/dead-letter/p/replay', token });
  await send({ path: '/v1/wait?until=idle', method: 'GET', token });
  return { secret, answers };
}

describe('a full debug log (ING-018)', () => {
  it('holds no secret and no payload, nor does an answer hold a secret', async () => {
    await withTemporaryDirectory(async (folder) => {
      const daemon = await startDaemon({
        root: join(folder, 'root'),
        args: ['--set', 'log.level=debug', '--set', 'drain.idle_exit_ms=100'],
      });
      try {
        const { secret, answers } = await exercise(daemon);
        expect(await daemon.stop()).toBe(0);
        const log = daemon.output();
        for (const told of [
          'daemon_starting',
          'request_finished',
          'record_dead',
          '"audit"',
          'daemon_stopped',
        ])
          expect(log, 'the log is whole, and at debug').toContain(told);
        for (const seed of [secret, ...Object.values(canary)])
          expect(log.includes(seed), `${seed} in the log`).toBe(false);
        const told = answers.join('\n');
        for (const seed of [secret, canary.wrongToken, canary.cookie])
          expect(told.includes(seed), `${seed} in an answer`).toBe(false);
      } finally {
        await daemon.kill();
      }
    });
  });
});
