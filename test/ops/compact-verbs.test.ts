import { afterEach, expect, it } from 'vitest';
import { compactionRefused, type CompactionReport } from '#queue';
import type { Compaction } from '#ops';
import type { Key } from '#record';
import { note } from '../drain/drain-fixture.ts';
import { testKey } from '../support/queue-fixtures.ts';
import { openOps, type OpsFixture } from './ops-fixture.ts';

/** Logs of which some are worth a compaction; notes what was asked for. */
function compactionOf(worthIt: readonly string[], asked: (readonly [Key, number])[]): Compaction {
  return {
    minBytes: 1024,
    logs: {
      async compactCommittedPrefix(key, minBytes): Promise<CompactionReport> {
        asked.push([key, minBytes]);
        if (!worthIt.includes(key)) throw compactionRefused({ key, reason: 'it is small' });
        return { key, generation: 1, removedBytes: 5000, keptBytes: 12 };
      },
    },
  };
}

const open: OpsFixture[] = [];

async function openHere(options: Parameters<typeof openOps>[0] = {}): Promise<OpsFixture> {
  const fixture = await openOps(options);
  open.push(fixture);
  return fixture;
}

afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close();
});

it('compacts the log of one session, or of all that are worth it, and says why not (ING-813)', async () => {
  const asked: (readonly [Key, number])[] = [];
  const compaction = compactionOf([testKey('a')], asked);
  const { call, post } = await openHere({ context: { compaction } });
  await post(note('a', 1), note('b', 1));
  const done = { key: testKey('a'), generation: 1, removed_bytes: 5000, kept_bytes: 12 };
  expect(await call('queue compact', { session: 'a', min_bytes: 7 })).toMatchObject(done);
  const refused = call('queue compact', { session: 'b' });
  await expect(refused).rejects.toMatchObject({
    code: 'COMPACTION_REFUSED',
    disposition: 'reject',
  });
  expect(asked).toEqual([
    [testKey('a'), 7],
    [testKey('b'), 1024],
  ]);
  const page = await call('queue compact all', { limit: 1 });
  expect(page).toMatchObject({
    compacted: [done],
    removed_bytes: 5000,
    next_page_token: testKey('a'),
  });
  const rest = await call('queue compact all', { page_token: String(page['next_page_token']) });
  expect(rest).toMatchObject({ compacted: [], removed_bytes: 0 });
  const bare = await openHere();
  await expect(bare.call('queue compact all')).rejects.toMatchObject({
    code: 'CAPABILITY_MISSING',
  });
});
