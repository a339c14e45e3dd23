import { join } from 'node:path';
import { assert } from '#base';
import { atomicReplace } from '#disk';
import type { SettledLetter } from '#queue';
import type { Key } from '#record';
import type { Engine } from '../engine.ts';
import type { DeadLine, OutcomeLine } from '../journal/payloads.ts';
import {
  deadFileName,
  parseLetterLine,
  readLetterFile,
  readLetters,
  retiredFileName,
  retiredPattern,
} from '../session/dead-file.ts';
import type { KeyState } from '../session/key-state.ts';
import { isOutcome } from '../session/letters.ts';

const lineEnd = 0x0a;

/**
 * Letters that have their outcome, in the files of epochs that are over. What still matters is never among them: a letter without an outcome, anything
 * of the open epoch, and anything of a key whose end is not finished. Called with the key's lock.
 */
export async function settledOf(
  engine: Engine,
  key: Key,
  state: KeyState | undefined,
): Promise<readonly SettledLetter[]> {
  const files = await retiredFiles(engine, key, state);
  if (files.length === 0) return [];
  const outcomes = await outcomesOf(engine, key, state, files);
  const found: SettledLetter[] = [];
  for (const { lines } of files)
    for (const [id, same] of Map.groupBy(lines, (line) => line.id)) {
      const outcome = outcomes.get(id);
      if (outcome === undefined) continue;
      const bytes = same.reduce(
        (sum, line) => sum + Buffer.byteLength(JSON.stringify(line)) + 1,
        0,
      );
      found.push({ key, id, bytes, settledMs: Date.parse(outcome.ts) });
    }
  return found;
}

/**
 * Takes the lines of these letters out, as far as they are settled by now; every other line stays byte for byte, those too that nobody can read. Each
 * file is replaced as a whole, so a kill leaves the old or the new one. Called with the key's lock.
 */
export async function forgetSettled(
  engine: Engine,
  key: Key,
  state: KeyState | undefined,
  ids: ReadonlySet<string>,
): Promise<readonly string[]> {
  const files = await retiredFiles(engine, key, state);
  const outcomes = await outcomesOf(engine, key, state, files);
  const isGoing = (line: DeadLine | OutcomeLine): boolean =>
    ids.has(line.id) && outcomes.has(line.id);
  for (const { path, lines } of files)
    if (lines.some(isGoing)) await rewrite(engine, path, isGoing);
  // What is left of them is of the open epoch, or has no outcome.
  const left = new Set((await readLetters(engine, key, state)).map(({ id }) => id));
  return [...ids].filter((id) => !left.has(id));
}

async function retiredFiles(engine: Engine, key: Key, state: KeyState | undefined) {
  if (state?.isFinalising === true) return [];
  const folder = engine.files.folderOf(key);
  const live = state?.isOpen === true ? retiredFileName(state.epoch) : undefined;
  const names = (await engine.options.disk.readDirectory(folder)).map(({ name }) => name);
  const over = names.filter((name) => retiredPattern.test(name) && name !== live);
  return Promise.all(over.map((name) => readLetterFile(engine, key, name)));
}

/** An outcome may have come in a later epoch than its letter's, and wait for its file. */
async function outcomesOf(
  engine: Engine,
  key: Key,
  state: KeyState | undefined,
  files: readonly { readonly lines: readonly (DeadLine | OutcomeLine)[] }[],
): Promise<ReadonlyMap<string, OutcomeLine>> {
  const { lines } = await readLetterFile(engine, key, deadFileName);
  const all = [...files.flatMap((file) => file.lines), ...lines, ...(state?.newDead ?? [])];
  return new Map(all.filter(isOutcome).map((line) => [line.id, line]));
}

async function rewrite(
  engine: Engine,
  path: string,
  isGoing: (line: DeadLine | OutcomeLine) => boolean,
): Promise<void> {
  const { disk, names } = engine.options;
  const bytes = await disk.readFile(path);
  assert(bytes !== undefined, `${path} was read under the same lock`);
  const kept: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const found = bytes.indexOf(lineEnd, at);
    const end = found < 0 ? bytes.length : found + 1;
    const line = parseLetterLine(bytes.subarray(at, found < 0 ? end : found));
    if (line === undefined || !isGoing(line)) kept.push(bytes.subarray(at, end));
    at = end;
  }
  if (kept.length > 0) {
    await atomicReplace(disk, path, Buffer.concat(kept), names);
    return;
  }
  await disk.unlink(path);
  await disk.syncDirectory(join(path, '..'));
}
