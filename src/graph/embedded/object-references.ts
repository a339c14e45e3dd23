import type { DatabaseSync } from 'node:sqlite';

/** A value that was spilled (D30) stands in a text of JSON within a property: with any number of escapes. */
const objectPattern = /\$object[\\":\s{]*sha256[\\":\s]*([0-9a-f]{64})/g;
const digestPattern = /[0-9a-f]{64}/g;

/** Ids of objects that a text of properties names. */
export function objectsIn(text: string): readonly string[] {
  return [...text.matchAll(objectPattern)].map((match) => match[1] ?? '');
}

/** Where spilled values are named: what owners wrote, what was derived from others' words, and those words. */
const textsSql = `
SELECT props AS text FROM node WHERE instr(props, '$object') > 0
UNION ALL SELECT derived FROM node WHERE instr(derived, '$object') > 0
UNION ALL SELECT fact FROM session_fact WHERE instr(fact, '$object') > 0`;

/** Those of the objects that nothing names; reads everything that names any. A digest counts wherever it stands: nothing goes that might be named. */
export function unreferenced(
  database: DatabaseSync,
  objects: readonly string[],
): readonly string[] {
  const left = new Set(objects);
  for (const { text } of database.prepare(textsSql).iterate())
    for (const [sha256] of String(text).matchAll(digestPattern)) left.delete(sha256);
  return [...left];
}
