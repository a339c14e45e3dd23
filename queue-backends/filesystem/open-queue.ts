import { join } from 'node:path';
import { Gate } from '#base';
import { failpoint } from '#disk';
import { fenceStale } from '#fence';
import {
  type BatchItem,
  type GraphBond,
  type KeyRemoval,
  type LogKeeping,
  type LogLifeCycle,
  type LogNeighbours,
  type LogRepair,
  type QueueBackend,
  type QueueLedger,
  type QueuePlug,
  type QueueTrouble,
  assertOwnerThread,
  createKeyLocks,
  draining,
  queueProtocolVersion,
} from '#queue';
import type { Key } from '#record';
import { append } from './append/append.ts';
import { checkpoint } from './checkpoint.ts';
import { makeFolder } from './session/make-folder.ts';
import { commit } from './commit.ts';
import { createNeighbours } from './neighbours.ts';
import { readLetters } from './session/dead-file.ts';
import { DedupIndexer } from './append/dedup-indexer.ts';
import type { Engine, FilesystemQueueOptions } from './engine.ts';
import { Filler } from './session/filler.ts';
import { type FormatFile, prepareFolder } from './format-file.ts';
import { createGraphBond } from './graph-bond.ts';
import { frameKinds } from './journal/frame.ts';
import { Journal } from './journal/journal.ts';
import { DeadKeys } from './dead-keys.ts';
import { LetteredKeys } from './lettered-keys.ts';
import { KeyNames } from './key-names.ts';
import { createLedger } from './ledger.ts';
import { createKeeping } from './lifecycle/keeping.ts';
import { createLifeCycle } from './lifecycle/life-cycle.ts';
import { createRemoval } from './lifecycle/remove-key.ts';
import { createRepair } from './repair/create-repair.ts';
import { offsetRecords } from './session/offset-record.ts';
import { encodeJson, type TenurePayload } from './journal/payloads.ts';
import { readBatch } from './read.ts';
import { readLog } from './read-log.ts';
import { applyJournal } from './recovery/recovery-apply.ts';
import { reclaimIn } from './recovery/recovery-finish.ts';
import { type Scan, scanJournal } from './recovery/recovery-scan.ts';
import { parseSegmentName } from './journal/segment.ts';
import { SegmentShelf } from './journal/segment-shelf.ts';
import { SessionFiles } from './session/session-files.ts';
import { type QueueSnapshot, takeSnapshot } from './snapshot.ts';
import { SpaceWatch } from './space-watch.ts';
import { compareWithState, readNotes } from './state-notes.ts';
import { StateTable } from './session/state-table.ts';
import { submitFrame } from './journal/submit.ts';
import { Upkeep } from './upkeep.ts';
import { withState } from './with-state.ts';
import { assertStillWriter, assertWriter } from './writer.ts';

export interface FilesystemQueue extends QueueBackend, QueueLedger, LogRepair, LogNeighbours {
  /** What ties it to its graph, as format.json and the keys tell it (ING-540…542). */
  readonly bond: GraphBond;
  /** What only a queue of log files can do (ING-102). */
  readonly lifeCycle: LogLifeCycle;
  /** Takes sessions out with all that is kept of them. */
  readonly removal: KeyRemoval;
  /** What goes by age or size. */
  readonly keeping: LogKeeping;
  /** Bytes of journal that session files do not hold yet. */
  journalLagBytes(): number;
  /** Carries the journal into the session files now; runs by itself as the journal fills and at close. */
  checkpoint(): Promise<void>;
  /** Gives segments that wait to be used again back to the file system. */
  dropSpareSegments(): Promise<void>;
  /** The queue at one instant, to be copied while it goes on (D31); to be ended by whoever asked. */
  snapshot(signal: AbortSignal): Promise<QueueSnapshot>;
  /** Every record that the log of a key still holds, committed or not, in order; what a checkpoint has not carried over is not among them. */
  readLog(key: Key): AsyncIterable<BatchItem>;
}

/** What the daemon opens by default (ING-108). */
export const filesystemPlug: QueuePlug<FilesystemQueueOptions, FilesystemQueue> = {
  name: 'filesystem',
  implementsProtocol: '^1.0.0',
  open: (options) => openFilesystemQueue(options),
};

/** Opens the queue of a root: recovers what a crash left, begins this tenure's first segment, and is ready for appends (QFS-20, QFS-40). */
export async function openFilesystemQueue(given: FilesystemQueueOptions): Promise<FilesystemQueue> {
  assertOwnerThread();
  assertWriter({ options: given, isClosing: false });
  const format = await prepareFolder(given);
  const options = await fitted(given);
  const scan = await scanJournal(options.disk, join(options.directory, 'journal'));
  refuseOlder(options, scan);
  await compareWithState(options, scan);
  await settleJournal(options, scan);
  const engine = createEngine(options, scan, await readNotes(options));
  try {
    await engine.space.look();
    const tenure: TenurePayload = { generation: options.permit.generation, rootId: options.rootId };
    await submitFrame(engine, frameKinds.tenure, encodeJson(tenure), () => undefined);
    await failpoint('recovery:tenure-begun');
    await applyJournal(engine, scan);
    await checkpoint(engine);
  } catch (error) {
    await closeFiles(engine);
    throw error;
  }
  return surface(engine, format);
}

/** A journal of several segments may take an eighth of a small file system, and no more. */
const segmentShare = 1 / 32;
const segmentBytesLeast = 64 * 1024;

/** Segments of 64 MiB make no sense on a file system of 64 MiB: the reserve must hold at least one (QFS-30). */
async function fitted(options: FilesystemQueueOptions): Promise<FilesystemQueueOptions> {
  const { disk, directory, limits } = options;
  const { totalBytes } = await disk.space(directory);
  const share = Math.max(segmentBytesLeast, Math.floor(totalBytes * segmentShare));
  const segmentBytes = Math.min(limits.segmentBytes, share);
  // On top of the given ones and not a copy: a reload may change those while the queue is open.
  const fittedLimits = Object.create(limits, { segmentBytes: { value: segmentBytes } });
  return { ...options, limits: fittedLimits as FilesystemQueueOptions['limits'] };
}

function refuseOlder({ permit }: FilesystemQueueOptions, scan: Scan): void {
  if (scan.highestTenure < permit.generation) return;
  throw fenceStale({
    domain: permit.domain,
    thing: 'the journal',
    generation: permit.generation,
    mark: scan.highestTenure,
  });
}

/**
 * What a killed process has written and not synced is in the cache and read as if it were durable: it must be, before anything is built on it.
 */
async function settleJournal(options: FilesystemQueueOptions, scan: Scan): Promise<void> {
  const { disk, directory } = options;
  const journal = join(directory, 'journal');
  for (const { name } of scan.segments) {
    const file = await disk.open(join(journal, name), 'write');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }
  for (const folder of [directory, journal]) await reclaimIn({ options }, folder);
  await disk.syncDirectory(journal);
}

function createShelf(options: FilesystemQueueOptions, scan: Scan, space: SpaceWatch): SegmentShelf {
  const { disk, chance, permit, limits } = options;
  const poisoned = new Set(scan.poisoned.map(({ name }) => name));
  const numbers = [...scan.unused, ...scan.segments.map(({ name }) => name)]
    .map(parseSegmentName)
    .filter((id) => id?.generation === permit.generation)
    .map((id) => id?.number ?? 0);
  return new SegmentShelf({
    disk,
    directory: join(options.directory, 'journal'),
    chance,
    generation: permit.generation,
    segmentBytes: limits.segmentBytes,
    hasRoomFor: (bytes) => space.hasRoomFor(bytes),
    firstNumber: Math.max(-1, ...numbers) + 1,
    old: [
      ...scan.segments.filter(({ name }) => !poisoned.has(name)),
      ...scan.unused.map((name) => ({ name, lastSequence: 0, bytes: 0 })),
    ],
    poisoned: scan.poisoned,
  });
}

function createEngine(
  options: FilesystemQueueOptions,
  scan: Scan,
  notes: readonly QueueTrouble[],
): Engine {
  const { disk, names, clock, chance, permit, state, directory } = options;
  const table = createKeyLocks({ clock, warnMs: options.lockWarnMs });
  const locks = options.aroundLocks?.(table) ?? table;
  const files = new SessionFiles({
    disk,
    names,
    directory: join(directory, 'sessions'),
    ...(options.logHandlesMax === undefined ? {} : { handlesMax: options.logHandlesMax }),
  });
  const space = new SpaceWatch({
    disk,
    directory,
    clock,
    reserveBytes: options.limits.reserveBytes,
    backlogBytes: () => engine.backlogBytes,
  });
  const engine: Engine = {
    options,
    locks,
    table: new StateTable(),
    names: new KeyNames(),
    deadKeys: new DeadKeys(),
    letteredKeys: new LetteredKeys(),
    files,
    filler: new Filler({
      clock,
      files,
      locks,
      makeFolder: (key, guard) => makeFolder(engine, key, guard),
    }),
    records: offsetRecords({ disk, names, clock, chance, locks, permit }),
    indexer: new DedupIndexer(state, permit, clock),
    space,
    journal: new Journal({
      clock,
      shelf: createShelf(options, scan, space),
      tenure: permit.generation,
      lastSequence: scan.lastSequence,
      mark: scan.mark?.low ?? 0,
      isSynced: options.fsync === 'group',
      assertWriter: () => assertWriter({ options, isClosing: false }),
      assertStillWriter: () => assertStillWriter(options),
    }),
    filesGate: new Gate(),
    stateGate: new Gate(),
    totals: { accepted: 0, applied: 0, dead: 0, discarded: 0, duplicates: 0, keys: 0 },
    active: new Set(),
    quarantined: new Set(),
    idle: new Map(),
    shut: new Set(),
    removed: new Set(),
    backlogBytes: 0,
    pendingDuplicates: 0,
    copiedBytes: 0,
    checkpointTrouble: undefined,
    readTrouble: undefined,
    letterGaps: new Map(),
    notes,
    isRecovered: false,
    isClosing: false,
  };
  return engine;
}

function surface(engine: Engine, format: FormatFile): FilesystemQueue {
  const upkeep = new Upkeep(engine);
  const ledger = createLedger(engine);
  const checkpointNow = (): Promise<void> => upkeep.checkpoint();
  return {
    protocolVersion: queueProtocolVersion,
    bond: createGraphBond(engine, format, checkpointNow),
    lifeCycle: createLifeCycle(engine),
    removal: createRemoval(engine, upkeep),
    keeping: createKeeping(engine),
    capabilities: { fsync: engine.options.fsync, ordered: true, logStructured: true },
    append: (records, options) => append(engine, records, options),
    readBatch: (key, max) => readBatch(engine, key, max),
    commit: (key, after, cursor, applied) =>
      commit(engine, { key, after, cursor, applied, letters: [] }),
    deadLetter: (key, letters, after, cursor) =>
      commit(engine, { key, after, cursor, applied: null, letters }),
    readCursor: (key) =>
      withState(engine, key, 'cursor', async (state) => {
        return state?.cursor ?? engine.options.state.getRow(key)?.cursor ?? null;
      }),
    readDeadLetters: (key) =>
      withState(engine, key, 'letters', async (state) => readLetters(engine, key, state)),
    activeKeys: async () => {
      refuseClosed(engine);
      return [...engine.active];
    },
    ...ledger,
    ...createRepair(engine),
    ...createNeighbours(engine),
    journalLagBytes: () => engine.journal.bytesSinceMark,
    checkpoint: checkpointNow,
    async dropSpareSegments() {
      await checkpointNow();
      await upkeep.alone(() => engine.journal.dropSpare());
    },
    snapshot: (signal) => takeSnapshot(engine, { totals: ledger.totals, signal }),
    readLog: (key) => readLog(engine, key),
    close: () => close(engine, upkeep),
  };
}

function refuseClosed(engine: Engine): void {
  if (engine.isClosing) throw draining({ what: 'the queue' });
}

/** What was handed over is durable, and nothing is left to replay. A checkpoint that fails leaves what kill -9 would, and says so. */
async function close(engine: Engine, upkeep: Upkeep): Promise<void> {
  if (engine.isClosing) return;
  engine.isClosing = true;
  engine.filesGate.break();
  engine.stateGate.break();
  try {
    await engine.journal.settled();
    await upkeep.checkpoint();
  } finally {
    await upkeep.end();
    await closeFiles(engine);
  }
}

async function closeFiles(engine: Engine): Promise<void> {
  engine.isClosing = true;
  await engine.filler.close();
  engine.locks.close();
  await engine.journal.close();
  await engine.files.close();
}
