import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Reads a root by what docs/disk-format.md and the README of the filesystem queue say, and by nothing else: no code of millrace is used here. Small
 * rather than fast: everything is held in memory.
 */
export interface ReadRoot {
  readonly rootId: string;
  readonly keys: ReadonlyMap<string, ReadKey>;
}

export interface ReadKey {
  workspace: string;
  session: string;
  epoch: string;
  ordinal: number;
  committed: number;
  end: number;
  accepted: number;
  dead: number;
  discarded: number;
  /** Code of the damage that has stopped it. */
  quarantine: string | null;
  /** Its epoch has ended: what is left of it is in the state store. */
  isFinalised: boolean;
  /** Records that the log or the journal still holds, by offset, as they were appended. */
  readonly records: Map<number, string>;
}

interface Frame {
  readonly kind: number;
  readonly sequence: number;
  readonly tenure: number;
  readonly synced: number;
  readonly index: number;
  readonly count: number;
  readonly payload: Buffer;
  readonly segment: string;
}

const [append, commit, mark, tenure, abandon, quarantine, clear] = [1, 2, 3, 4, 5, 6, 7];
const [generation, seed, finalise, reset, copy] = [8, 9, 10, 11, 14];

export function readRoot(root: string): ReadRoot {
  const marker = json(readFileSync(join(root, 'root.json')));
  const queue = join(root, 'queue');
  const format = json(readFileSync(join(queue, 'format.json')));
  if (format['format'] !== 1 || format['root_id'] !== marker['storage_root_id'])
    throw new Error('no queue of this root in format 1');
  const frames = tailOf(join(queue, 'journal'));
  const toldFrom = new Map<string, number>();
  for (const frame of frames) noteTold(frame, toldFrom);
  const keys = new Map<string, ReadKey>();
  const counted = new Map<string, { tenure: number; sequence: number }>();
  for (const shard of names(join(queue, 'sessions')))
    for (const key of names(join(queue, 'sessions', shard))) {
      if (!sha256(key).startsWith(shard)) throw new Error(`${key} lies in ${shard}`);
      readSession(join(queue, 'sessions', shard, key), key, { keys, counted, toldFrom });
    }
  for (const frame of frames) carry(frame, keys, counted);
  return { rootId: String(marker['storage_root_id']), keys };
}

function names(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).toSorted() : [];
}

function json(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as never;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

// Checksums

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
function checked(path: string): Readonly<Record<string, unknown>> {
  const { crc, ...rest } = json(readFileSync(path));
  if (crc !== hex(crc32c(Buffer.from(canonical(rest))))) throw new Error(`${path} is damaged`);
  return rest;
}

/** The record in a stored line; undefined when its checksum is wrong. */
function recordIn(line: Buffer): string | undefined {
  const text = line.toString('utf8');
  const found = /,"crc":"([0-9a-f]{8})"\}\n$/.exec(text);
  if (found === null) return undefined;
  const before = line.subarray(0, line.length - Buffer.byteLength(found[0]));
  return found[1] === hex(crc32c(before)) ? `${before.toString('utf8')}}` : undefined;
}

// Journal

function tailOf(folder: string): readonly Frame[] {
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

// Frames

interface Totals {
  readonly accepted: number;
  readonly dead: number;
  readonly discarded: number;
}

interface AppendMeta {
  readonly keys: readonly {
    readonly k: string;
    readonly e: string;
    readonly o: number;
    readonly open?: {
      readonly workspace: string;
      readonly session: string;
      readonly totals: Totals;
    };
  }[];
  readonly records: readonly {
    readonly k: number;
    readonly at: number;
    readonly len: number;
    readonly set?: unknown;
  }[];
}

function split(payload: Buffer): { readonly meta: unknown; readonly rest: Buffer } {
  const end = 4 + payload.readUInt32LE(0);
  return { meta: json(payload.subarray(4, end)), rest: payload.subarray(end) };
}

/** The frames in a COPY, each with the sequence and tenure that it had. */
function inside(frame: Frame): readonly Frame[] {
  if (frame.kind !== copy) return [frame];
  const { meta, rest } = split(frame.payload);
  const { frames } = meta as { frames: readonly { s: number; t: number; k: number; len: number }[] };
  let at = 0;
  return frames.map(({ s, t, k, len }) => {
    at += len;
    return { ...frame, kind: k, sequence: s, tenure: t, payload: rest.subarray(at - len, at) };
  });
}

function noteTold(frame: Frame, toldFrom: Map<string, number>): void {
  for (const { kind, payload } of inside(frame)) {
    if (kind !== append) continue;
    const { keys, records } = split(payload).meta as AppendMeta;
    for (const { k, at } of records) {
      const name = `${keys[k]?.k} ${keys[k]?.e}`;
      toldFrom.set(name, Math.min(toldFrom.get(name) ?? at, at));
    }
  }
}

function carry(
  outer: Frame,
  keys: Map<string, ReadKey>,
  counted: Map<string, { tenure: number; sequence: number }>,
): void {
  for (const frame of inside(outer)) {
    const isCounted = (key: string): boolean => {
      const known = counted.get(key);
      const isOld =
        known !== undefined &&
        (frame.tenure < known.tenure ||
          (frame.tenure === known.tenure && frame.sequence <= known.sequence));
      if (!isOld) counted.set(key, { tenure: frame.tenure, sequence: frame.sequence });
      return isOld;
    };
    if (frame.kind === append) carryAppend(frame.payload, keys, isCounted);
    else if (!wholeRoot.has(frame.kind)) carryChange(frame, keys, isCounted);
  }
}

/** Kinds that speak of no key. */
const wholeRoot: ReadonlySet<number> = new Set([mark, tenure, abandon]);

/** Everything but an append: what one frame makes of one key. */
function carryChange(
  { kind, payload }: Frame,
  keys: Map<string, ReadKey>,
  isCounted: (key: string) => boolean,
): void {
  const told = json(payload) as unknown as Change;
  const key = keys.get(told.k);
  if (key === undefined || (told.e !== undefined && told.e !== key.epoch)) return;
  // Of these the last one counts, also where the offset record holds it.
  if (kind === quarantine) key.quarantine = told.code;
  if (kind === clear && told.more !== true) key.quarantine = null;
  if (kind === quarantine || isCounted(told.k)) return;
  const change = changes.get(kind);
  if (change === undefined) throw new Error(`a frame of the unknown kind ${kind}`);
  change(key, told);
}

interface Change {
  readonly k: string;
  readonly e?: string;
  readonly after: number;
  readonly delta: { readonly dead: number; readonly discarded: number };
  readonly base: number;
  readonly end: number;
  readonly totals: Totals;
  readonly code: string;
  readonly more?: boolean;
}

function setPosition(key: ReadKey, { after, end, totals }: Change): void {
  const { accepted, dead, discarded } = totals;
  Object.assign(key, { committed: after, end, accepted, dead, discarded });
}

const changes: ReadonlyMap<number, (key: ReadKey, told: Change) => void> = new Map([
  [
    commit,
    (key: ReadKey, { after, delta }: Change) => {
      key.committed = after;
      key.dead += delta.dead;
      key.discarded += delta.discarded;
    },
  ],
  [clear, setPosition],
  [reset, setPosition],
  [
    generation,
    (key: ReadKey, { base }: Change) => {
      for (const at of key.records.keys()) if (at < base) key.records.delete(at);
    },
  ],
  [seed, () => undefined],
  [
    finalise,
    (key: ReadKey) => {
      key.isFinalised = true;
      key.records.clear();
    },
  ],
]);

function carryAppend(
  payload: Buffer,
  keys: Map<string, ReadKey>,
  isCounted: (key: string) => boolean,
): void {
  const { meta, rest } = split(payload);
  const { keys: heads, records } = meta as AppendMeta;
  const fresh = heads.map(({ k }) => !isCounted(k));
  for (const [at, { k, e, o, open }] of heads.entries()) {
    if (fresh[at] !== true || open === undefined) continue;
    const { workspace, session, totals } = open;
    const { accepted, dead, discarded } = totals;
    const own = { workspace, session, epoch: e, ordinal: o, committed: 0, end: 0 };
    const books = { accepted, dead, discarded, quarantine: null, isFinalised: false };
    keys.set(k, { ...own, ...books, records: new Map() });
  }
  let from = 0;
  for (const { k, at, len, set } of records) {
    const line = rest.subarray(from, from + len);
    from += len;
    const key = keys.get(heads[k]?.k ?? '');
    if (fresh[k] !== true || key === undefined) continue;
    const record = recordIn(line);
    if (record === undefined) throw new Error('a damaged line in a sound frame');
    key.records.set(at, record);
    key.end = at + len;
    if (set === undefined) key.accepted += 1;
    else key.dead -= 1;
  }
}

// Session files

function readSession(
  folder: string,
  key: string,
  into: {
    readonly keys: Map<string, ReadKey>;
    readonly counted: Map<string, { tenure: number; sequence: number }>;
    readonly toldFrom: ReadonlyMap<string, number>;
  },
): void {
  if (!existsSync(join(folder, 'offset.json'))) return;
  const record = checked(join(folder, 'offset.json'));
  const number = String(record['gen']).padStart(6, '0');
  const begun = checked(join(folder, `generation.${number}.json`));
  if (begun['epoch'] !== record['epoch'] || begun['base'] !== record['base'])
    throw new Error(`${key}: offset record and generation file differ`);
  const totals = record['totals'] as Totals;
  const marker = join(folder, 'quarantine.json');
  const read: ReadKey = {
    workspace: String(record['workspace']),
    session: String(record['session_id']),
    epoch: String(record['epoch']),
    ordinal: Number(record['ordinal']),
    committed: Number(record['offset']),
    end: Number(record['log_end']),
    accepted: totals.accepted,
    dead: totals.dead,
    discarded: totals.discarded,
    quarantine: existsSync(marker) ? String(json(readFileSync(marker))['code']) : null,
    isFinalised: record['state'] === 'finalizing',
    records: new Map(),
  };
  into.keys.set(key, read);
  into.counted.set(key, record['frame'] as { tenure: number; sequence: number });
  const told = into.toldFrom.get(`${key} ${read.epoch}`) ?? Number.POSITIVE_INFINITY;
  const log = join(folder, `log.${number}.jsonl`);
  const bytes = existsSync(log) ? readFileSync(log) : Buffer.alloc(0);
  readLines(bytes, Number(record['base']), Number(record['log_end']), told, read);
}

function readLines(bytes: Buffer, base: number, logEnd: number, told: number, key: ReadKey): void {
  for (let at = 0; at < bytes.length && base + at < told; ) {
    const end = bytes.indexOf(0x0a, at) + 1;
    const record = end === 0 ? undefined : recordIn(bytes.subarray(at, end));
    if (record === undefined) {
      if (base + at < logEnd) throw new Error(`a damaged line at ${base + at}`);
      return;
    }
    key.records.set(base + at, record);
    if (base + at >= logEnd) {
      key.end = base + end;
      key.accepted += 1;
    }
    at = end;
  }
}
