import { join } from 'node:path';
import { assert } from '#base';
import { atomicReplace } from '#disk';
import { type Key, parseKey } from '#record';
import { evidenceKept } from '#signals';
import type { Engine } from '../engine.ts';
import { loadState } from '../session/load-key.ts';
import { quarantineKey } from '../quarantine.ts';
import type { Scan, SegmentRange } from './recovery-scan.ts';

export async function readSegment(engine: Engine, name: string): Promise<Buffer> {
  const bytes = await engine.options.disk.readFile(join(engine.options.directory, 'journal', name));
  assert(bytes !== undefined, `journal segment ${name} was there a moment ago`);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Damaged and torn bytes are kept beside the journal before anything of them can be written over (P7). */
export async function keepJournalEvidence(engine: Engine, scan: Scan): Promise<void> {
  for (const { ranges } of scan.damaged)
    for (const range of ranges)
      await keepRange(engine, range, 'corrupt', 'a range of the journal is damaged');
  const reason = 'the last group of the journal is torn; its requests may have been acknowledged';
  if (scan.torn !== undefined) await keepRange(engine, scan.torn, 'torn', reason);
}

/** One name for one range, so that a recovery that is done again keeps it once. */
async function keepRange(
  engine: Engine,
  range: SegmentRange,
  kind: 'corrupt' | 'torn',
  reason: string,
): Promise<void> {
  const { disk, directory, names } = engine.options;
  const path = join(directory, 'journal', `${range.segment}.${range.from}.${kind}.bin`);
  if ((await disk.stat(path)) !== undefined) return;
  const content = (await readSegment(engine, range.segment)).subarray(range.from, range.to);
  await atomicReplace(disk, path, content.subarray(0, usedBytes(content)), names);
  evidenceKept.publish(() => ({ path, reason }));
}

/** Without the zeros at the end of a preallocated segment. */
function usedBytes(content: Uint8Array): number {
  let end = content.length;
  while (end > 0 && content[end - 1] === 0) end -= 1;
  return end;
}

/** A key that a damaged range still names is stopped; one that it does not name shows a hole in its offsets (QFS-06). */
export async function quarantineNamed(engine: Engine, scan: Scan): Promise<void> {
  for (const { ranges, firstSequence, lastSequence } of scan.damaged)
    for (const key of await keysIn(engine, ranges)) {
      const state = await engine.locks.with(key, (guard) => loadState(engine, guard));
      const message = `journal frames ${firstSequence} to ${lastSequence} are damaged and name ${key}`;
      if (state !== undefined)
        await quarantineKey(engine, state, { code: 'RECORD_CORRUPT', message });
    }
}

async function keysIn(engine: Engine, ranges: readonly SegmentRange[]): Promise<ReadonlySet<Key>> {
  const keys = new Set<Key>();
  for (const { segment, from, to } of ranges) {
    const text = (await readSegment(engine, segment)).toString('latin1', from, to);
    for (const [, name = ''] of text.matchAll(/"k":"([A-Za-z0-9_%~-]{3,200})"/g)) {
      const key = parseKey(name);
      if (key !== undefined) keys.add(key);
    }
  }
  return keys;
}
