/**
 * queue-backends/filesystem: the default queue; one commit journal, per-session files filled from it.
 *
 * Lives here: frames, segments, journal, session files, offset records, checkpoint, recovery, limits. README.md has the on-disk format.
 * Not here: what records mean; who drains them.
 * Promises: P1, P2, P3, P4, P6, P7, P9.
 * May call: base, signals, disk, record, fence, state, queue. Called by: daemon/assemble.ts, tests.
 */
import { join } from 'node:path';
import { formatTooNew } from '#base';
import { atomicReplace, makeDurableDirectory } from '#disk';
import { fenceStale } from '#fence';
import { type QueueBackend, type QueueLedger, createKeyLocks } from '#queue';
import { append } from './append.ts';
import { checkpoint, makeFolder } from './checkpoint.ts';
import { commit } from './commit.ts';
import { readLetters } from './dead-file.ts';
import { DedupIndexer } from './dedup-indexer.ts';
import type { Engine, FilesystemQueueOptions } from './engine.ts';
import { Filler } from './filler.ts';
import { frameKinds } from './frame.ts';
import { Journal } from './journal.ts';
import { createLedger } from './ledger.ts';
import { SpaceWatch } from './limits.ts';
import { offsetRecordStore } from './offset-record.ts';
import { encodeJson, type TenurePayload } from './payloads.ts';
import { readBatch } from './read.ts';
import { applyJournal } from './recovery-apply.ts';
import { type Scan, scanJournal } from './recovery-scan.ts';
import { SegmentShelf } from './segment-shelf.ts';
import { SessionFiles } from './session-files.ts';
import { StateTable, loadState } from './state-table.ts';
import { submitFrame } from './submit.ts';
import { assertWriter } from './writer.ts';

export type { FilesystemQueueOptions, QueueLimits } from './engine.ts';

export interface FilesystemQueue extends QueueBackend, QueueLedger {
  /** Carries the journal into the session files now; runs by itself as the journal fills and at close. */
  checkpoint(): Promise<void>;
}

const formatVersion = 1;
/** A checkpoint begins when this many segments' worth of journal is not in the session files yet. */
const checkpointSegments = 2;
/** How often the journal's growth is looked at. */
const watchMs = 250;

interface FormatFile {
  readonly format: number;
  readonly root_id: string;
  readonly created_at: string;
  readonly key_encoding: number;
}

/** Opens the queue of a root: recovers what a crash left, begins this tenure's first segment, and is ready for appends (QFS-20, QFS-40). */
export async function openFilesystemQueue(
  options: FilesystemQueueOptions,
): Promise<FilesystemQueue> {
  await prepareFolder(options);
  const scan = await scanJournal(options.disk, join(options.directory, 'journal'));
  if (scan.highestTenure >= options.permit.generation)
    throw fenceStale({
      domain: options.permit.domain,
      thing: 'the journal',
      generation: options.permit.generation,
      mark: scan.highestTenure,
    });
  const engine = createEngine(options, scan);
  await applyJournal(engine, scan);
  const tenure: TenurePayload = { generation: options.permit.generation, rootId: options.rootId };
  await submitFrame(engine, frameKinds.tenure, encodeJson(tenure), () => undefined);
  await checkpoint(engine);
  return surface(engine);
}

async function prepareFolder(options: FilesystemQueueOptions): Promise<void> {
  const { disk, directory, names, rootId } = options;
  for (const name of ['journal', 'sessions'])
    await makeDurableDirectory(disk, join(directory, name), directory);
  const path = join(directory, 'format.json');
  const bytes = await disk.readFile(path);
  if (bytes === undefined) {
    const format: FormatFile = {
      format: formatVersion,
      root_id: rootId,
      created_at: new Date(options.clock.now()).toISOString(),
      key_encoding: 1,
    };
    await atomicReplace(
      disk,
      path,
      Buffer.from(`${JSON.stringify(format, null, 2)}\n`, 'utf8'),
      names,
    );
    return;
  }
  const { format } = JSON.parse(Buffer.from(bytes).toString('utf8')) as FormatFile;
  if (format > formatVersion)
    throw formatTooNew({ thing: `the queue ${directory}`, found: format, known: formatVersion });
}

function createEngine(options: FilesystemQueueOptions, scan: Scan): Engine {
  const { disk, names, clock, chance, permit, state } = options;
  const directory = join(options.directory, 'journal');
  const locks = createKeyLocks({ clock, warnMs: options.lockWarnMs });
  const files = new SessionFiles({
    disk,
    names,
    clock,
    directory: join(options.directory, 'sessions'),
  });
  const lastOf = (name: string): number =>
    scan.places.filter(({ segment }) => segment === name).at(-1)?.sequence ?? 0;
  const poisoned = new Set(scan.poisoned.map(({ name }) => name));
  const shelf = new SegmentShelf({
    disk,
    directory,
    chance,
    generation: permit.generation,
    segmentBytes: options.limits.segmentBytes,
    old: [
      ...scan.segments
        .filter(({ name }) => !poisoned.has(name))
        .map(({ name, bytes }) => ({ name, lastSequence: lastOf(name), bytes })),
      ...scan.unused.map((name) => ({ name, lastSequence: 0, bytes: 0 })),
    ],
    poisoned: scan.poisoned,
  });
  const engine: Engine = {
    options,
    locks,
    table: new StateTable(),
    files,
    filler: new Filler({
      clock,
      files,
      locks,
      makeFolder: (key, guard) => makeFolder(engine, key, guard),
    }),
    records: offsetRecordStore(disk, names),
    indexer: new DedupIndexer(state, permit),
    journal: new Journal({
      clock,
      shelf,
      tenure: permit.generation,
      lastSequence: scan.lastSequence,
      mark: scan.low,
      isSynced: options.fsync === 'group',
      assertWriter: () => assertWriter({ options, isClosing: false }),
    }),
    totals: { accepted: 0, applied: 0, dead: 0, discarded: 0, duplicates: 0, keys: 0 },
    active: new Set(),
    quarantined: new Set(),
    backlogBytes: 0,
    duplicatesInFlight: 0,
    isClosing: false,
  };
  return engine;
}

/** Looks now and then whether the journal has grown enough for a checkpoint, and whether ids wait for the index. */
class Upkeep {
  readonly #engine: Engine;
  #running: Promise<void> | undefined;
  #isOver = false;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#schedule();
  }

  /** One checkpoint at a time; a call while one runs waits for the next. */
  async checkpoint(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    const run = checkpoint(this.#engine);
    this.#running = run.then(
      () => undefined,
      () => undefined,
    );
    try {
      await run;
    } finally {
      this.#running = undefined;
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  #schedule(): void {
    if (this.#isOver) return;
    this.#engine.options.clock.after(watchMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { journal, indexer, options } = this.#engine;
    try {
      if (indexer.waitingCount > 0) await indexer.drain();
      if (
        !this.#isOver &&
        journal.bytesSinceMark > checkpointSegments * options.limits.segmentBytes
      )
        await this.checkpoint();
    } catch {
      // What failed is said by `trouble()` and the journal's signals; the frames are still there, and the next look tries again.
      this.#running = undefined;
    }
    this.#schedule();
  }
}

function surface(engine: Engine): FilesystemQueue {
  const space = new SpaceWatch();
  const upkeep = new Upkeep(engine);
  return {
    protocolVersion: '1.0.0',
    capabilities: { fsync: engine.options.fsync, ordered: true, logStructured: true },
    append: (records, options) => append(engine, space, records, options),
    readBatch: (key, max) => readBatch(engine, key, max),
    commit: (key, after, cursor, applied) => commit(engine, key, after, cursor, applied, []),
    deadLetter: (key, letters, after, cursor) => commit(engine, key, after, cursor, null, letters),
    readCursor: async (key) => {
      const state = await engine.locks.with(
        key,
        (guard) => loadState(engine, guard),
        undefined,
        'cursor',
      );
      return state?.cursor ?? engine.options.state.getRow(key)?.cursor ?? null;
    },
    readDeadLetters: (key) =>
      engine.locks.with(key, async (guard) => {
        const state = await loadState(engine, guard);
        return state === undefined ? [] : readLetters(engine, state);
      }),
    activeKeys: () => Promise.resolve([...engine.active]),
    ...createLedger(engine),
    checkpoint: () => upkeep.checkpoint(),
    async close() {
      engine.isClosing = true;
      await engine.journal.settled();
      await upkeep.checkpoint();
      await upkeep.end();
      await engine.filler.close();
      engine.locks.close();
      await engine.journal.close();
      await engine.files.close();
    },
  };
}
