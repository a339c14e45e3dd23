import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checked, json, kinds, names, recordIn, tailOf, type Frame } from './journal-reader.ts';

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

const { append, commit, mark, tenure, abandon, quarantine, clear } = kinds;
const { generation, seed, finalise, reset, copy } = kinds;

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

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
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
