import { expect, it } from 'vitest';
import { systemClock } from '#base';
import { readEnvironment } from '#config';
import { followJob } from '../../src/cli/verbs/dead-commands.ts';
import { daemonUnreachable } from '../../src/cli/errors.ts';

it('tells who follows a job where to find it when its daemon goes away', async () => {
  const told: string[] = [];
  const context = {
    printer: {
      out: () => undefined,
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
      call: () => Promise.reject(daemonUnreachable({ url: 'http://a', reason: 'gone' })),
      send: () => Promise.reject(new Error('not asked')),
    }),
  };
  const job = { id: 'j1', state: 'running', done: 1, total: 2, waiting_for: null, counts: {} };
  await expect(followJob(context, { job }, true)).rejects.toMatchObject({
    code: 'DAEMON_UNREACHABLE',
  });
  expect(told.join()).toContain('millrace jobs show j1');
});
