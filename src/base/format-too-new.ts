import { defineError, type ErrorFactory } from './errors.ts';

/**
 * A stored form was written by a newer version. One code for every room that stores: each form carries its version, and a newer one is
 * refused by name, never half understood.
 */
export const formatTooNew: ErrorFactory<{ thing: string; found: number; known: number }> =
  defineError(
    'FORMAT_TOO_NEW',
    'fatal',
    ({ thing, found, known }) =>
      `${thing} has version ${found}, this millrace knows versions up to ${known}: start the newer millrace that wrote it`,
  );
