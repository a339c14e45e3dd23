import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createBackup, type BackupSources } from '#backup';
import { loadConfig } from '#config';
import { drillBackup } from '#daemon';
import { backupSources } from '../../src/daemon/desk/backup-sources.ts';
import { withCore, type Core } from '../../src/daemon/boot/core.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { note } from '../drain/drain-fixture.ts';

const version = '0.0.0-test';
const never = new AbortController().signal;

/** Appends a record to each of three sessions and waits until the graph has them. */
async function turn({ stores, work: { drain } }: Core, at: number): Promise<void> {
  const records = ['a', 'b', 'c'].map((session) => ({
    ...note(session, at),
    eventId: `${session}-${at}`,
  }));
  await stores.queue.append(records);
  await drain.idle(never);
}

type Change = (sources: BackupSources, core: Core, folder: string) => BackupSources;

/** Saves a root that has drained two turns, and puts the backup through its drill. */
async function savedAndDrilled(change: Change = (same) => same): Promise<unknown> {
  return withTemporaryDirectory(async (folder) => {
    const path = join(folder, 'saved');
    const loaded = loadConfig({});
    const root = { path: join(folder, 'root'), source: 'cli' } as const;
    await withCore({ loaded, root, failpoints: undefined, version }, async (core) => {
      const { ground, permit, control, stores, work } = core;
      const { disk, names, clock, chance } = ground;
      work.drain.start();
      await turn(core, 0);
      const needs = { root: core.root, permit, control, stores, drain: work.drain, loaded, clock };
      const sources = change(backupSources(needs), core, folder);
      const tell = (): void => undefined;
      const order = { path, sources, disk, names, clock, chance, signal: never, tell };
      await createBackup({ ...order, product: version });
    });
    return drillBackup(path, { work: folder, version, signal: never, tell: () => undefined });
  });
}

describe('a backup', () => {
  it('has queue and graph of one instant (ING-T44, D31)', async () => {
    const report = await savedAndDrilled();
    expect(report).toMatchObject({ drained: { accepted: 3, applied: 3, pending: 0, residual: 0 } });
  });

  it('is told from one whose graph is of an earlier instant than its journal (ING-T44)', async () => {
    const early: Change = (sources, core, folder) => ({
      ...sources,
      async freeze(signal) {
        const before = await core.stores.snapshot(signal);
        await mkdir(join(folder, 'early'));
        const graph = join(folder, 'early', 'graph.db');
        const digest = await before.copyGraph(graph);
        await before.end();
        await turn(core, 1);
        const frozen = await sources.freeze(signal);
        return {
          ...frozen,
          async copyGraph(path) {
            await cp(graph, path);
            return digest;
          },
        };
      },
    });
    await expect(savedAndDrilled(early)).rejects.toMatchObject({ code: 'DRILL_FAILED' });
  });
});
