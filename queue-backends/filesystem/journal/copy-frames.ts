import type { Key } from '#record';
import type { Engine } from '../engine.ts';
import { frameKinds } from './frame.ts';
import { type KeyState, isCounted } from '../session/key-state.ts';
import type { TailLine } from '../session/tail-memory.ts';
import {
  type AppendMeta,
  type CopiedFrame,
  decodeAppend,
  decodeCopy,
  decodeJson,
  encodeAppend,
  encodeCopy,
} from './payloads.ts';
import { readSegment } from '../recovery/recovery-damage.ts';
import { scanSegment } from './scan-segment.ts';
import { decodeSegmentHeader } from './segment.ts';
import { submitFrame } from './submit.ts';

/**
 * Carries the frames of keys that a checkpoint could not write to the head of the journal, in one frame with a sequence of its own and the
 * tenure of this writer; the frames inside keep theirs, which go on ordering them (QFS-11). Returns its size; it waits until it is durable.
 */
export async function copyFrames(
  engine: Engine,
  states: readonly KeyState[],
  low: number,
): Promise<number> {
  const frames: CopiedFrame[] = [];
  for (const state of states)
    for (const frame of await framesOf(engine, state))
      if (frame.sequence <= low) frames.push(frame);
  if (frames.length === 0) return 0;
  frames.sort((a, b) => a.sequence - b.sequence);
  const payload = encodeCopy(
    states.map(({ key }) => key),
    frames,
  );
  await submitFrame(engine, frameKinds.copy, payload, () => undefined);
  return payload.payloadBytes;
}

/** The stored lines from an offset on, as the journal has them. */
export async function linesInJournal(
  engine: Engine,
  state: KeyState,
  from: number,
): Promise<readonly TailLine[]> {
  const lines = new Map<number, TailLine>();
  for (const frame of await framesOf(engine, state)) {
    if (frame.kind !== frameKinds.append) continue;
    const { meta, lines: bytes } = decodeAppend(frame.payload);
    let at = 0;
    for (const record of meta.records) {
      at += record.len;
      if (record.at < from) continue;
      lines.set(record.at, { offset: record.at, bytes: bytes.subarray(at - record.len, at) });
    }
  }
  return [...lines.values()].toSorted((a, b) => a.offset - b.offset);
}

/** Durable frames of one key that its offset record does not hold, oldest first; of two with one sequence, one. */
async function framesOf(engine: Engine, state: KeyState): Promise<readonly CopiedFrame[]> {
  const found = new Map<number, CopiedFrame>();
  for (const { name, lastSequence } of engine.journal.segments()) {
    const bytes = await readSegment(engine, name);
    const header = decodeSegmentHeader(bytes, name);
    const frames = header === undefined ? [] : scanSegment(name, header, bytes, true).frames;
    for (const { frame } of frames)
      if (frame.sequence <= lastSequence)
        for (const one of framesIn(frame, state)) found.set(one.sequence, one);
  }
  return [...found.values()].toSorted((a, b) => a.sequence - b.sequence);
}

/** What a frame says of one key: nothing, itself, the part of it, or what it carries along. */
function framesIn(frame: CopiedFrame, state: KeyState): readonly CopiedFrame[] {
  if (frame.kind === frameKinds.copy)
    return decodeCopy(frame.payload)
      .frames.flatMap((one) => partOf(one, state.key))
      .filter((one) => !isCounted(state, one.tenure, one.sequence));
  const isHere = frame.sequence <= state.floor || isCounted(state, frame.tenure, frame.sequence);
  return isHere ? [] : partOf(frame, state.key);
}

function partOf(frame: CopiedFrame, key: Key): readonly CopiedFrame[] {
  switch (frame.kind) {
    case frameKinds.append: {
      const part = appendOf(frame, key);
      return part === undefined ? [] : [part];
    }
    case frameKinds.commit:
    case frameKinds.quarantine:
    case frameKinds.quarantineClear:
    case frameKinds.reset:
    case frameKinds.generation:
    case frameKinds.seed:
    case frameKinds.finalise: {
      const { k } = decodeJson<{ readonly k: Key }>(frame.payload);
      return k === key ? [frame] : [];
    }
    default:
      return [];
  }
}

/** The records of one key alone: the other keys of the request are in their files. */
function appendOf(frame: CopiedFrame, key: Key): CopiedFrame | undefined {
  const { meta, lines } = decodeAppend(frame.payload);
  const index = meta.keys.findIndex(({ k }) => k === key);
  if (index < 0) return undefined;
  const mine: Uint8Array[] = [];
  let at = 0;
  const records = meta.records.flatMap((record) => {
    at += record.len;
    if (record.k !== index) return [];
    mine.push(lines.subarray(at - record.len, at));
    return [{ ...record, k: 0 }];
  });
  const keys = meta.keys.slice(index, index + 1);
  const part: AppendMeta = { keys, records, t: meta.t };
  const encoded = encodeAppend(part, mine);
  const payload = Buffer.alloc(encoded.payloadBytes);
  encoded.write(payload, 0);
  return { sequence: frame.sequence, tenure: frame.tenure, kind: frame.kind, payload };
}
