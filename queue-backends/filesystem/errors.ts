import { defineError, type ErrorFactory } from '#base';

/** The folder is not the queue of this root, or nobody can say whose it is: it is never touched. */
export const queueForeign: ErrorFactory<{ directory: string; reason: string }> = defineError(
  'QUEUE_FOREIGN',
  'fatal',
  ({ directory, reason }) =>
    `${directory} is not the queue of this root (${reason}): start with its own root, or move the folder away`,
);
