import type { DatabaseSync } from 'node:sqlite';

/** Pages of the file that hold something. */
export function usedBytes(database: DatabaseSync): number {
  const read = (name: 'page_count' | 'freelist_count' | 'page_size'): number =>
    Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
  return (read('page_count') - read('freelist_count')) * read('page_size');
}
