import type { DatabaseSync } from 'node:sqlite';
import { sessionNodeId } from '#record';
import { lastAtSql } from './quiet-sessions.ts';

/** A value that was spilled (D30) stands in a text of JSON within a property: with any number of escapes. */
const objectPattern = /\$object[\\":\s{]*sha256[\\":\s]*([0-9a-f]{64})/g;
const digestPattern = /[0-9a-f]{64}/g;

/** Ids of objects that a text of properties names. */
export function objectsIn(text: string): readonly string[] {
  return [...text.matchAll(objectPattern)].map((match) => match[1] ?? '');
}

/** As `unreferenced`, with when the sessions that name them had their last event; whoever tells no time is of now, so that nothing of it looks old. */
export function namedUntil(
  database: DatabaseSync,
  objects: readonly string[],
): ReadonlyMap<string, string> {
  const asked = new Set(objects);
  const lastAts = new Map<number | null, string>();
  const find = database.prepare('SELECT wid, session FROM owner WHERE oid = ?');
  const tell = database.prepare(
    `SELECT ${lastAtSql} AS last_at FROM node n WHERE n.wid = ? AND n.id = ? AND n.is_stub = 0`,
  );
  const lastAtOf = (oid: number | null): string => {
    const known = lastAts.get(oid);
    if (known !== undefined) return known;
    const owner = oid === null ? undefined : find.get(oid);
    const node = owner && tell.get(Number(owner['wid']), sessionNodeId(String(owner['session'])));
    const told = String(node?.['last_at'] ?? neverPast);
    lastAts.set(oid, told);
    return told;
  };
  const until = new Map<string, string>();
  for (const { text, oid } of database.prepare(textsSql).iterate()) {
    const named = [...String(text).matchAll(digestPattern)].map(([sha256]) => sha256);
    for (const sha256 of named.filter((one) => asked.has(one))) {
      const lastAt = lastAtOf(oid === null ? null : Number(oid));
      if (lastAt > (until.get(sha256) ?? '')) until.set(sha256, lastAt);
    }
  }
  return until;
}

const neverPast = '9999-12-31T23:59:59.999Z';

/** Where spilled values are named: what owners wrote, what was derived from others' words, and those words. */
const textsSql = `
SELECT props AS text, oid FROM node WHERE instr(props, '$object') > 0
UNION ALL SELECT derived, oid FROM node WHERE instr(derived, '$object') > 0
UNION ALL SELECT fact, oid FROM session_fact WHERE instr(fact, '$object') > 0`;

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
