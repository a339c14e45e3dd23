import { exportFolder, type ExportOptions, type ExportReport } from '#legacy';
import type { DaemonOptions } from '../daemon.ts';
import { workOffline } from './offline.ts';

export interface ExportLegacyOptions extends DaemonOptions {
  readonly export: ExportOptions;
}

/** Writes the flat form of the predecessor from a root that no daemon serves (ING-824, ING-311). Nothing is drained meanwhile. */
export function exportLegacy(options: ExportLegacyOptions): Promise<ExportReport> {
  return workOffline({ ...options, isDrained: false }, async ({ ground, stores }) => {
    await stores.checkpoint();
    const { disk } = ground;
    const { queue } = stores;
    const needs = { disk, queue, ledger: queue, readLog: stores.readLog };
    return exportFolder(needs, options.export);
  });
}
