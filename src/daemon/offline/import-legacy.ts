import { importFolder, type ImportOptions, type ImportReport } from '#legacy';
import { parseOffsetRecord } from '../assemble.ts';
import type { DaemonOptions } from '../daemon.ts';
import { workOffline } from './offline.ts';

export interface ImportLegacyOptions extends DaemonOptions {
  readonly import: ImportOptions;
}

/** Adopts a folder of the predecessor into a root that no daemon serves (ING-828, ING-311). */
export function importLegacy(options: ImportLegacyOptions): Promise<ImportReport> {
  const { config } = options.loaded;
  return workOffline({ ...options, isDrained: true }, ({ ground, stores, work, stopDrain }) =>
    importFolder(
      {
        disk: ground.disk,
        clock: ground.clock,
        ingest: work.ingest,
        queue: stores.queue,
        ledger: stores.queue,
        drain: work.drain,
        keyEncoding: config['queue.key_encoding'],
        eventBytesMax: config['ingest.max_event_bytes'],
        parseOffset: (bytes) => {
          const parsed = parseOffsetRecord(bytes);
          return parsed.kind === 'native'
            ? { kind: 'native', offset: parsed.record.offset }
            : parsed;
        },
        forgetIds: (key, eventIds) => stores.forgetIds(key, eventIds),
        stopDrain,
      },
      options.import,
    ),
  );
}
