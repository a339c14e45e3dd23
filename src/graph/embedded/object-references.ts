import type { DatabaseSync } from 'node:sqlite';

const objectPattern = /"\$object":\{[^{}]*"sha256":"([0-9a-f]{64})"/g;

/** Ids of objects that a text of properties names (D30). */
export function objectsIn(text: string): readonly string[] {
  return [...text.matchAll(objectPattern)].map((match) => match[1] ?? '');
}

/** Those of the objects that no node names; reads every node that names any. */
export function unreferenced(
  database: DatabaseSync,
  objects: readonly string[],
): readonly string[] {
  const left = new Set(objects);
  const rows = database
    .prepare(`SELECT props FROM node WHERE instr(props, '"$object"') > 0`)
    .iterate();
  for (const row of rows) for (const sha256 of objectsIn(String(row['props']))) left.delete(sha256);
  return [...left];
}
