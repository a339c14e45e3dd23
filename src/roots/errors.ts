import { defineError, type ErrorFactory } from '#base';

interface RootDetails {
  readonly root: string;
  readonly [more: string]: unknown;
}

/** Something else lives in the folder: nothing was written (ROOT-40). */
export const rootForeign: ErrorFactory<RootDetails & { found: string }> = defineError(
  'ROOT_FOREIGN',
  'fatal',
  ({ root, found }) =>
    `${root} is not empty and no data root (it holds ${found}): name another folder with --root, or an empty one`,
);

/** ROOT-39: most likely an unmounted volume, so nothing is made there. */
export const rootMissing: ErrorFactory<RootDetails & { source: string }> = defineError(
  'ROOT_MISSING',
  'fatal',
  ({ root, source }) =>
    `${root}, named by ${source}, holds no data root: mount it, or make one there with "millrace serve --root ${root}"`,
);

/** A selector or a folder that fails a check without a code of its own. */
export const rootInvalid: ErrorFactory<RootDetails & { reason: string }> = defineError(
  'ROOT_INVALID',
  'fatal',
  ({ root, reason }) => `${root === '' ? 'the root' : root} cannot be used: ${reason}`,
);

/** The marker is damaged, or its state is not one that a daemon may serve. */
export const rootUnreadable: ErrorFactory<RootDetails & { reason: string }> = defineError(
  'ROOT_UNREADABLE',
  'fatal',
  ({ root, reason }) =>
    `the marker root.json of ${root} cannot be used (${reason}): restore it from a backup; nothing was changed`,
);

/** ING-235 */
export const rootPermissions: ErrorFactory<RootDetails & { mode: string }> = defineError(
  'ROOT_PERMISSIONS',
  'fatal',
  ({ root, mode }) =>
    `${root} is open to other users (mode ${mode}): close it with "chmod 700 ${root}"`,
);

/** ING-112 */
export const caseInsensitive: ErrorFactory<RootDetails> = defineError(
  'FS_CASE_INSENSITIVE',
  'fatal',
  ({ root }) =>
    `the file system of ${root} does not tell upper from lower case, so two sessions could share a folder: set queue.key_encoding to hashed, or use another file system`,
);

/** A restore was interrupted: half a root is none. */
export const restoreUnfinished: ErrorFactory<RootDetails> = defineError(
  'RESTORE_UNFINISHED',
  'fatal',
  ({ root }) =>
    `a restore into ${root} was interrupted: run "millrace backup restore" with this folder again`,
);
