import { expect, it } from 'vitest';
import { systemClock } from '#base';
import { readEnvironment } from '#config';
import { followJob } from '../../src/cli/verbs/dead-commands.ts';
import type { Route } from '../../src/cli/client.ts';
import { daemonUnreachable } from '../../src/cli/errors.ts';

function contextOf(told: string[], call: (route: Route) => Promise<unknown>) {
  return {
    printer: {
      out: (text: string) => void told.push(text),
      err: (text: string) => void told.push(text),
      bytes: () => Promise.resolve(),
      progress: () => undefined,
    },
    isJson: false,
    clock: { ...systemClock, sleep: () => Promise.resolve() },
    environment: readEnvironment(),
    client: () => ({
      url: 'http://a',
      stream: () => Promise.reject(new Error('not asked')),
      call,
      send: () => Promise.reject(new Error('not asked')),
    }),
  };
}

it('tells at the end of a job what became of the letters: whether their cause is mended', async () => {
  const told: string[] = [];
  const looks = [
    ['applied', 'pending', 'dead', null],
    ['applied', 'applied', 'dead', null],
  ];
  const context = contextOf(told, () =>
    Promise.resolve({ results: looks.shift()?.map((now) => ({ now })) ?? [] }),
  );
  const counts = { requeued: 4 };
  const job = { id: 'j1', kind: 'requeue', state: 'done', counts, waiting_for: null };
  expect(await followJob(context, { job }, true)).toBe(0);
  expect(told.join('\n')).toContain('of those that were requeued: 2 applied, 1 dead again');
  expect(told.join('\n')).toContain('Next: millrace dead groups');
  expect(looks).toEqual([]);
});

it('tells who follows a job where to find it when its daemon goes away', async () => {
  const told: string[] = [];
  const context = contextOf(told, () =>
    Promise.reject(daemonUnreachable({ url: 'http://a', reason: 'gone' })),
  );
  const job = { id: 'j1', state: 'running', done: 1, total: 2, waiting_for: null, counts: {} };
  await expect(followJob(context, { job }, true)).rejects.toMatchObject({
    code: 'DAEMON_UNREACHABLE',
  });
  expect(told.join()).toContain('millrace jobs show j1');
});
