import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The journal and the checksums, read by what docs/disk-format.md and the README of the filesystem queue say, and by nothing else. */
export interface Frame {
  readonly kind: number;
  readonly sequence: number;
  readonly tenure: number;
  readonly synced: number;
  readonly index: number;
  readonly count: number;
  readonly payload: Buffer;
  readonly segment: string;
}

/** Numbers of the kinds of frame. */
export const kinds = {
  append: 1,
  commit: 2,
  mark: 3,
  tenure: 4,
  abandon: 5,
  quarantine: 6,
  clear: 7,
  generation: 8,
  seed: 9,
  finalise: 10,
  reset: 11,
  copy: 14,
} as const;
const { mark, abandon } = kinds;

export function names(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).toSorted() : [];
}

export function json(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as never;
}

export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.keys(value).toSorted((a, b) => (a < b ? -1 : 1));
  const texts = members.map(
    (name) => `${JSON.stringify(name)}:${canonical((value as Record<string, unknown>)[name])}`,
  );
  return `{${texts.join(',')}}`;
}

/** A JSON object whose member `crc` is that of the rest. */
export function checked(path: string): Readonly<Record<string, unknown>> {
  const { crc, ...rest } = json(readFileSync(path));
  if (crc !== hex(crc32c(Buffer.from(canonical(rest))))) throw new Error(`${path} is damaged`);
  return rest;
}

/** The record in a stored line; undefined when its checksum is wrong. */
export function recordIn(line: Buffer): string | undefined {
  const text = line.toString('utf8');
  const found = /,"crc":"([0-9a-f]{8})"\}\n$/.exec(text);
  if (found === null) return undefined;
  const before = line.subarray(0, line.length - Buffer.byteLength(found[0]));
  return found[1] === hex(crc32c(before)) ? `${before.toString('utf8')}}` : undefined;
}

// Journal

export function tailOf(folder: string): readonly Frame[] {
  const segments = names(folder)
    .filter((name) => /^\d{10}-\d{10}\.wal$/.test(name))
    .map((name) => readSegment(name, readFileSync(join(folder, name))))
    .filter((segment) => segment !== undefined);
  const abandoned = new Map<string, number>();
  for (const { frames } of segments)
    for (const { kind, payload } of frames)
      if (kind === abandon)
        for (const { name, lastGoodSequence } of (json(payload)['segments'] ?? []) as readonly {
          name: string;
          lastGoodSequence: number;
        }[])
          abandoned.set(name, lastGoodSequence);
  const starts = new Map<number, number>();
  for (const { tenure, first, frames } of segments)
    if (frames.length > 0) starts.set(tenure, Math.min(starts.get(tenure) ?? first, first));
  const isOutdated = (tenure: number, sequence: number): boolean =>
    [...starts].some(([later, first]) => later > tenure && first <= sequence);
  const kept = segments
    .flatMap(({ frames }) => frames)
    .filter(({ segment, sequence }) => sequence <= (abandoned.get(segment) ?? sequence))
    .filter(({ tenure, sequence }) => !isOutdated(tenure, sequence))
    .toSorted((a, b) => a.sequence - b.sequence);
  return aboveMark(kept);
}

function aboveMark(kept: readonly Frame[]): readonly Frame[] {
  const lows = kept.filter(({ kind }) => kind === mark).map((frame) => Number(json(frame.payload)['low']));
  const synced = Math.max(0, ...kept.map((frame) => frame.synced));
  let last = lows.length > 0 ? Math.max(...lows) : (kept[0]?.sequence ?? 1) - 1;
  const tail: Frame[] = [];
  for (const frame of kept) {
    if (frame.sequence <= last) continue;
    if (frame.sequence > last + 1) {
      if (last + 1 > synced) break;
      throw new Error(`frames behind ${last} are damaged`);
    }
    tail.push(frame);
    last = frame.sequence;
  }
  const end = tail.at(-1);
  if (end === undefined || end.index === end.count - 1) return tail;
  return tail.filter(({ sequence }) => sequence < end.sequence - end.index);
}

function readSegment(
  name: string,
  bytes: Buffer,
): { tenure: number; first: number; frames: readonly Frame[] } | undefined {
  if (bytes.length < 64 || bytes.toString('latin1', 0, 8) !== 'MILLRACE') return undefined;
  if (crc32c(bytes.subarray(0, 60)) !== bytes.readUInt32LE(60)) return undefined;
  const [salt, tenure, number] = [bytes.readUInt32LE(12), u64(bytes, 16), u64(bytes, 24)];
  const own = [tenure, number].map((part) => String(part).padStart(10, '0')).join('-');
  if (`${own}.wal` !== name) return undefined;
  const frames: Frame[] = [];
  const first = u64(bytes, 32);
  let last = first - 1;
  for (let at = 64; at + 48 <= bytes.length; ) {
    const frame = readFrame(name, bytes, at, salt);
    if (frame === undefined || frame.sequence <= last) {
      at += 8;
      continue;
    }
    frames.push(frame);
    last = frame.sequence;
    at += Math.ceil((48 + frame.payload.length) / 8) * 8;
  }
  return { tenure, first, frames };
}

function readFrame(segment: string, bytes: Buffer, at: number, salt: number): Frame | undefined {
  if (bytes.readUInt32LE(at + 12) !== salt) return undefined;
  const end = at + 48 + bytes.readUInt32LE(at);
  if (end > bytes.length) return undefined;
  const whole = Buffer.from(bytes.subarray(at, end));
  whole.writeUInt32LE(0, 4);
  if (crc32c(whole) !== bytes.readUInt32LE(at + 4)) return undefined;
  if (whole.readUInt8(9) !== 1) throw new Error('a frame of a newer version');
  return {
    kind: whole.readUInt8(8),
    sequence: u64(whole, 16),
    tenure: u64(whole, 24),
    synced: u64(whole, 32),
    index: whole.readUInt32LE(40),
    count: whole.readUInt32LE(44),
    payload: whole.subarray(48),
    segment,
  };
}

function u64(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at));
}
