import { defineError, type ErrorFactory } from '#base';

/** Stored bytes are not those that were put (P11). They are kept as they are. */
export const objectCorrupt: ErrorFactory<{ sha256: string; reason: string }> = defineError(
  'OBJECT_CORRUPT',
  'corrupt',
  ({ sha256, reason }) =>
    `object ${sha256} is damaged (${reason}): restore it from a backup, the file is left as it is`,
);

/** The store cannot be written or read now. */
export const objectsUnavailable: ErrorFactory<{ sha256: string; reason: string }> = defineError(
  'OBJECTS_UNAVAILABLE',
  'retry',
  ({ sha256, reason }) =>
    `object ${sha256} cannot be stored or read now (${reason}): it is tried again`,
);
