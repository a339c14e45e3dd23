import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '#base';
import { classifyControlError } from './errors.ts';

/** Runs `fn` as one transaction that takes the write lock at once. */
export function inTransaction<T>(database: DatabaseSync, fn: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = fn();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

export function classified<T>(path: string, fn: () => T): T {
  try {
    return fn();
  } catch (error) {
    throw classifyControlError(path, error);
  }
}

export function timeOf(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}
