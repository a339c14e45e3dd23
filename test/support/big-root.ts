import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemChance, systemClock } from '#base';
import { nodeDisk, stagingNames } from '#disk';
import { FencePermit, tenureDomain } from '#fence';
import type { AppliedRow } from '#graph';
import { openEmbeddedGraph } from '#graph/embedded';
import { emptyCursor, encodeKey, formatPosition, type Cursor, type Key } from '#record';
import { bindRoot } from '#roots';
import { openLmdbState, type KeyRow, type StateWrite } from '#state';
import { sealFrame } from '../../queue-backends/filesystem/journal/frame.ts';
import {
  frameBytes,
  frameHeaderBytes,
  frameKinds,
  type FrameKind,
} from '../../queue-backends/filesystem/journal/frame.ts';
import {
  encodeSegmentHeader,
  segmentName,
} from '../../queue-backends/filesystem/journal/segment.ts';
import { encodeGeneration } from '../../queue-backends/filesystem/session/generation-file.ts';
import { encodeOffsetRecord } from '../../queue-backends/filesystem/session/offset-record.ts';
import { storedBytes, writeStored } from '../../queue-backends/filesystem/session/stored-line.ts';

/** Sessions per transaction of the state store. */
const rowsAtOnce = 1000;
const workspace = 'idle';
/** Sequence that the journal's mark names. */
const markedThrough = 1;
const accepted = '2026-01-01T00:00:00.000Z';

/**
 * Makes a root of many idle sessions in the form that a clean stop leaves: one applied event each, its log, generation file, offset record and row,
 * and a journal whose mark counts them all. 100,000 in half a minute, where posting them takes ten. Of the graph it writes the row of each session,
 * which a start compares with the log; nodes and edges are left out.
 */
export async function makeBigRoot(path: string, sessions: number): Promise<void> {
  const names = stagingNames(process.pid, systemChance);
  const root = await bindRoot(
    { path, source: 'cli' },
    { disk: nodeDisk(), clock: systemClock, chance: systemChance, names, keyEncoding: 'plain' },
  );
  const { layout, marker } = root;
  root.lock.release();
  const rootId = marker.storageRootId;
  const permit = FencePermit.issue(tenureDomain(rootId), 1, 'big-root', () => true);
  const chance = systemChance;
  const state = await openLmdbState({ directory: layout.state, permit, chance });
  const graph = await openEmbeddedGraph({
    path: join(layout.graph, 'graph.db'),
    rootId,
    permit,
    spillBytes: 64 * 1024,
    clock: systemClock,
    chance,
  });
  for (let from = 0; from < sessions; from += rowsAtOnce) {
    const count = Math.min(rowsAtOnce, sessions - from);
    const made = Array.from({ length: count }, (_, at) => makeSession(layout.queue, from + at));
    await state.write(
      permit,
      made.flatMap(({ writes }) => writes),
    );
    await graph.adopt(
      permit,
      new Map(made.map(({ key, mark }): [Key, AppliedRow] => [key, { ...mark, rootId }])),
    );
  }
  await graph.close();
  await state.write(permit, [{ table: 'checkpoint', through: markedThrough }]);
  await state.flush();
  await state.close();
  writeQueue(layout.queue, rootId, sessions);
}

function lineOf(session: string): Buffer {
  const data = { session_id: session, timestamp: accepted };
  const record = { v: 1, sid: session, at: accepted, ws: workspace, by: 'agent', ev: 'test:event' };
  const raw = Buffer.from(JSON.stringify({ ...record, data }));
  const line = Buffer.alloc(storedBytes(raw));
  writeStored(line, 0, raw);
  return line;
}

function cursorOf(): Cursor {
  return { ...emptyCursor(), layer1: { event_seq: 1, last_updated: null } };
}

interface MadeSession {
  readonly key: Key;
  /** What the state store has of it. */
  readonly writes: readonly StateWrite[];
  /** What the graph has of it. */
  readonly mark: Pick<AppliedRow, 'position' | 'sha256'>;
}

/** Writes the session's folder. */
function makeSession(queue: string, number: number): MadeSession {
  const session = `idle-${String(number).padStart(7, '0')}`;
  const key = encodeKey(workspace, session);
  const epoch = systemChance.uuid();
  const line = lineOf(session);
  const position = formatPosition({ ordinal: 0, epoch, offset: line.length });
  const sha256 = createHash('sha256').update(line).digest('hex');
  const totals = { accepted: 1, applied: 1, dead: 0, discarded: 0, duplicates: 0 };
  const shard = createHash('sha256').update(key).digest('hex').slice(0, 2);
  const folder = join(queue, 'sessions', shard, key);
  mkdirSync(folder, { recursive: true });
  const names = { workspace, session_id: session };
  writeFileSync(join(folder, 'log.000000.jsonl'), line);
  writeFileSync(
    join(folder, 'generation.000000.json'),
    encodeGeneration({
      v: 1,
      ...names,
      epoch,
      ordinal: 0,
      gen: 0,
      base: 0,
      cursor: null,
      sha256_before: null,
    }),
  );
  writeFileSync(
    join(folder, 'offset.json'),
    encodeOffsetRecord({
      v: 2,
      min_reader: 2,
      ...names,
      owner: 'agent',
      epoch,
      ordinal: 0,
      gen: 0,
      base: 0,
      offset: line.length,
      log_end: line.length,
      log_records: 1,
      committed_records: 1,
      applied: { position, sha256 },
      state: 'open',
      totals,
      seq: 1,
      frame: { tenure: 1, sequence: 1 },
      tenure: 1,
      cursor: cursorOf(),
    }),
  );
  const row: KeyRow = {
    ordinal: 0,
    epoch,
    position,
    appliedPosition: position,
    sha256,
    cursor: cursorOf(),
    totals,
    workspace,
    session,
    owner: 'agent',
  };
  const progress = { epoch, indexedThrough: line.length };
  return {
    key,
    writes: [
      { table: 'progress', key, progress },
      { table: 'row', key, row },
    ],
    mark: { position, sha256 },
  };
}

/** `format.json`, and a journal of one segment whose last word is the mark of a clean stop. */
function writeQueue(queue: string, rootId: string, sessions: number): void {
  const format = {
    format: 1,
    root_id: rootId,
    graph_id: null,
    created_at: accepted,
    key_encoding: 1,
  };
  writeFileSync(join(queue, 'format.json'), `${JSON.stringify(format, null, 2)}\n`);
  const totals = {
    accepted: sessions,
    applied: sessions,
    dead: 0,
    discarded: 0,
    duplicates: 0,
    keys: sessions,
  };
  const salt = 4711;
  const frames = [
    frameOf(frameKinds.tenure, { generation: 1, rootId }, { salt, sequence: 1 }),
    frameOf(
      frameKinds.mark,
      { low: markedThrough, totals, active: [], quarantined: [] },
      { salt, sequence: 2 },
    ),
  ];
  const header = { salt, generation: 1, number: 0, firstSequence: 1, mark: 0 };
  mkdirSync(join(queue, 'journal'), { recursive: true });
  writeFileSync(
    join(queue, 'journal', segmentName(1, 0)),
    Buffer.concat([encodeSegmentHeader(header), ...frames]),
  );
}

function frameOf(
  kind: FrameKind,
  payload: object,
  { salt, sequence }: { readonly salt: number; readonly sequence: number },
): Buffer {
  const text = Buffer.from(JSON.stringify(payload), 'utf8');
  const buffer = Buffer.alloc(frameBytes(text.length));
  text.copy(buffer, frameHeaderBytes);
  const place = { salt, sequence, tenure: 1, synced: sequence - 1, groupIndex: 0, groupCount: 1 };
  sealFrame(buffer, 0, text.length, { kind, ...place });
  return buffer;
}
