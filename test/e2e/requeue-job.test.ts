import { setTimeout as after } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { getJson, postLines, readBooks, waitUntilIdle } from '../support/daemon-client.ts';
import { makeLabRoot } from '../support/lab-root.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

interface Job {
  readonly id: string;
  readonly state: string;
  readonly total: number;
  readonly counts: Readonly<Record<string, number>>;
}

interface Result {
  readonly letter: string;
  readonly result: string;
  readonly position: string;
  readonly now: string;
}

const sessions = ['k1', 'k2', 'k3'];
const perSession = 90;

/** Events that contradict themselves: each dies, and dies again when it is requeued unmended. */
function poison(): readonly string[] {
  return sessions.flatMap((session) =>
    Array.from({ length: perSession }, (_, at) =>
      JSON.stringify({
        event: 'session:fork',
        workspace: 'w',
        event_id: `${session}-${at}`,
        data: { session_id: session, parent: session, timestamp: '2026-06-01T00:00:00Z', at },
      }),
    ),
  );
}

const requeueAll = (daemon: ChildDaemon): Promise<Response> =>
  fetch(`${daemon.url}/v1/dead-letters/requeue`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'all-of-them' },
    body: JSON.stringify({ workspace: 'w' }),
  });

const jobsOf = async (daemon: ChildDaemon): Promise<readonly Job[]> =>
  (await getJson<{ readonly jobs: readonly Job[] }>(daemon.url, '/v1/jobs')).jobs;

async function pages<T>(daemon: ChildDaemon, path: string, member: string): Promise<readonly T[]> {
  const rows: T[] = [];
  for (let token = ''; ;) {
    const page = await getJson<Readonly<Record<string, unknown>>>(
      daemon.url,
      `${path}limit=1000${token}`,
    );
    rows.push(...(page[member] as readonly T[]));
    const next = page['next_page_token'];
    if (typeof next !== 'string') return rows;
    token = `&page_token=${next}`;
  }
}

async function ended(daemon: ChildDaemon): Promise<Job> {
  for (;;) {
    const [job] = await jobsOf(daemon);
    if (job?.state !== 'running') return job ?? fail();
    await after(20);
  }
}

function fail(): never {
  throw new Error('there is a job');
}

it('a requeue of hundreds that is killed at each of its steps goes on: nothing twice, nothing left (SC-035, P4)', async () => {
  await withTemporaryDirectory(async (root) => {
    await makeLabRoot(root);
    const started = (failpoints?: string): Promise<ChildDaemon> =>
      startDaemon({
        root,
        args: ['--log-level', 'error'],
        ...(failpoints === undefined ? {} : { env: { MILLRACE_FAILPOINTS: failpoints } }),
      });
    const count = sessions.length * perSession;
    let daemon = await started('jobs:after-selection=crash');
    try {
      expect(await postLines(daemon.url, poison())).toBe(202);
      await waitUntilIdle(daemon.url);
      await expect(requeueAll(daemon)).rejects.toThrow();
      await daemon.exited();
      // The selection was never whole: it counts for nothing, and the request is made again.
      daemon = await started('jobs:after-append=crash@2');
      expect(await jobsOf(daemon)).toEqual([]);
      await requeueAll(daemon).catch(() => undefined);
      await daemon.exited();
      // It goes on by itself at the start, and dies of it before it is ready or soon after.
      const third = await started('jobs:after-append=crash@1').catch(() => undefined);
      await third?.exited();
      daemon = await started();
      const job = await ended(daemon);
      expect(job).toMatchObject({ state: 'done', total: count, counts: { requeued: count } });
      expect(job.counts).toEqual({ requeued: count });
      // Asked again by its key, it is the same job.
      expect(await (await requeueAll(daemon)).json()).toMatchObject({ operation_id: job.id });
      await waitUntilIdle(daemon.url);
      const results = await pages<Result>(daemon, `/v1/jobs/${job.id}/results?`, 'results');
      expect(new Set(results.map(({ letter }) => letter)).size).toBe(count);
      expect(new Set(results.map(({ position }) => position)).size).toBe(count);
      expect(new Set(results.map(({ now }) => now))).toEqual(new Set(['dead']));
      const letters = await pages<{ readonly state: string }>(
        daemon,
        '/v1/dead-letters?retired=true&',
        'dead_letters',
      );
      const states = Object.groupBy(letters, ({ state }) => state);
      expect([states['requeued']?.length, states['live']?.length]).toEqual([count, count]);
      expect(await readBooks(daemon.url)).toMatchObject({
        accepted: count,
        dead: count,
        pending: 0,
        residual: 0,
      });
    } finally {
      await daemon.kill();
    }
  });
});
