import { defineError, type ErrorFactory } from '#base';

export const legacyFolderInvalid: ErrorFactory<{ folder: string; reason: string }> = defineError(
  'LEGACY_FOLDER_INVALID',
  'reject',
  ({ folder, reason }) =>
    `${folder} is no queue folder of the predecessor: ${reason}; name the folder that holds its .log and .dead.jsonl files`,
);

/** The reason under which a dead letter of the predecessor lives on. */
export const legacyDeadLetter: ErrorFactory<{ error: string; since: string }> = defineError(
  'LEGACY_DEAD_LETTER',
  'poison',
  ({ error, since }) => `${error} (a dead letter of the predecessor since ${since})`,
);

export const importStalled: ErrorFactory<{ reason: string; pending: number }> = defineError(
  'IMPORT_STALLED',
  'retry',
  ({ reason, pending }) =>
    `the import waits in vain (${reason}, ${pending} records pending): see "millrace queue verify", then import again; what is in stays in`,
);

/** ING-824: an export never writes over anything. */
export const exportTargetExists: ErrorFactory<{ folder: string }> = defineError(
  'EXPORT_TARGET_EXISTS',
  'reject',
  ({ folder }) => `${folder} is there and not empty: name a new folder; nothing was written`,
);
