/**
 * daemon: one process that serves one root.
 *
 * Lives here: the order of the boot and of the stop, what is plugged in where, the watches over lock and books; what works on a root
 * without a daemon (`verifyRoot`, `importLegacy`, `exportLegacy`).
 * Folders: `boot` (its steps, and what they open), `watch` (what is looked at while it runs), `desk` (plugs of the operators' rooms), `offline`.
 * Not here: what any of the parts does; the command line.
 * Promises: P10, and P6 and P8 with the rooms below: no write after the exclusion is lost.
 * May call: every room below, and the plugs (assemble.ts alone). Called by: cli.
 */
export { createDaemon } from './daemon.ts';
export {
  backupOffline,
  drillBackup,
  restoreOffline,
  type DrillReport,
} from './offline/offline-backup.ts';
export type { Daemon, DaemonOptions, ReadyDaemon } from './daemon.ts';
export { verifyRoot } from './offline/verify-root.ts';
export type { RootVerified, VerifyRootOptions } from './offline/verify-root.ts';
export type { VerifiedKey, VerifyFinding } from './assemble.ts';
export { importLegacy, type ImportLegacyOptions } from './offline/import-legacy.ts';
export { exportLegacy, type ExportLegacyOptions } from './offline/export-legacy.ts';
export { copyRootGraph, type CopyGraphOptions } from './offline/copy-graph.ts';
