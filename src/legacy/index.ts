/**
 * legacy: the queue folders of the predecessor.
 *
 * Lives here: which file is what, its lines and dead letters, the import of a folder, the flat form that it can read again.
 * Not here: admission, the queue, the drain: an import goes the way of every other event.
 * Promises: P1, P4 and P7 with the rooms below: nothing of a source is changed, skipped in silence or taken twice.
 * May call: base, disk, record, queue, access, formats, ingest, drain. Called by: daemon, cli.
 */
export * from './errors.ts';
export { importFolder } from './import-folder.ts';
export type {
  ImportNeeds,
  ImportOptions,
  ImportReport,
  LegacyOffset,
  RefusedLine,
  SessionReport,
} from './import-report.ts';
export { exportFolder } from './export-folder.ts';
export type { ExportedSession, ExportOptions, ExportReport } from './export-folder.ts';
