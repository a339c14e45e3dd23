import { createLiveConfig, effectiveConfig, loadConfig } from '#config';
import type { AdoptReport } from '#drain';
import type { OpsContext } from '#ops';
import { testKey } from '../support/queue-fixtures.ts';

/** An adopt of one key that changes nothing: what the verb makes of it is looked at, not what it does. */
export const adoptNothing: OpsContext['adopt'] = ({ key }) => {
  const report: AdoptReport = {
    keys: key === undefined ? 3 : 1,
    changed: { missing: 1, behind: 0, ahead: 0, foreign: 0, unknown: 0 },
    changes: [
      {
        key: testKey('a'),
        cause: 'missing',
        reason: 'the graph has no row for it',
        from: null,
        to: { rootId: 'SR-test', position: '00000000.00000000000001.e' as never, sha256: 'f' },
        forgets: true,
      },
    ],
    idsForgotten: 0,
    graphBefore: 'one',
    graphId: 'another',
  };
  return Promise.resolve(report);
};

/** A backup without a file. */
export const saveNothing: OpsContext['backup'] = ({ path }) =>
  Promise.resolve({
    path,
    manifest: {
      format: 1,
      backupId: 'b-1',
      product: '0.1.0',
      createdAt: '2026-06-01T00:00:00.000Z',
      rootId: 'SR-test',
      keyEncoding: 'plain',
      isLab: false,
      generation: 1,
      books: { accepted: 0, applied: 0, pending: 0, dead: 0, discarded: 0, duplicates: 0 },
      graph: { graphId: 'one', digest: 'd', nodes: 0, edges: 0 },
      files: [],
    },
  });

const live = createLiveConfig(loadConfig({ flags: { 'log.level': 'warn' } }));

/** Settings of which a reload sets the level back. */
export const fixedDesk: OpsContext['settings'] = {
  effective: () => effectiveConfig(live.loaded),
  reload: () => live.replace(loadConfig({ flags: { 'queue.fsync': 'none' } })),
};
