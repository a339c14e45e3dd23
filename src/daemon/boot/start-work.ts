import { isLoopback, type TokenStore } from '#access';
import { parseAddress, type Config } from '#config';
import { adoptGraph, createDrain, type Drain } from '#drain';
import type { FencePermit } from '#fence';
import { fold } from '#handlers';
import { createIngest, createRedaction, type Ingest, type IngestOptions } from '#ingest';
import type { Degradation, OpsContext } from '#ops';
import { backupRunning } from '#backup';
import {
  createSessionRemoval,
  createStorageMeter,
  type Retention,
  type SessionRemoval,
} from '#keeping';
import { cursorSchema } from '#record';
import type { BoundRoot } from '#roots';
import { controlSchemaVersion, type ControlDatabase } from '#control';
import type { Stores } from '../assemble.ts';
import type { BackupPathRules } from '../desk/backup-path.ts';
import { createBackups, type Backups } from '../desk/create-backups.ts';
import { createDesk } from '../desk/create-desk.ts';
import { createRootRetention } from '../desk/create-retention.ts';
import { createVacuum, storageFolders } from '../desk/create-vacuum.ts';
import type { Ground } from '../daemon.ts';
import { recovering } from '../errors.ts';
import type { Work } from './front.ts';
import { createKeyRepair } from '../desk/key-repair.ts';
import { drainSettings, ingestLimits, publishedLimits, redactRules } from '../settings.ts';

export interface WorkNeeds {
  readonly root: BoundRoot;
  readonly permit: FencePermit;
  readonly control: ControlDatabase;
  readonly stores: Stores;
  readonly tokens: TokenStore;
  readonly degraded: () => readonly Degradation[];
}

export interface StartedWork extends Work {
  readonly drain: Drain;
  readonly backups: Backups;
  readonly removal: SessionRemoval | undefined;
  readonly retention: Retention;
}

/** Of everything that is stored or spoken (ING-904). */
function versionsOf(product: string, protocol: string): OpsContext['versions'] {
  const controlSchema = controlSchemaVersion;
  return { product, protocol, offsetRecord: 2, cursorSchema, controlSchema };
}

/** Live: `compaction.min_bytes` is read at each use. */
function compactionOf(logs: Stores['lifeCycle'], config: Config): OpsContext['compaction'] {
  return {
    logs,
    get minBytes() {
      return config['compaction.min_bytes'];
    },
  };
}

/** Live: `backup.dir` is read at each use. */
function backupRules(root: string, config: Config): BackupPathRules {
  const address = parseAddress(config['http.listen']);
  return {
    root,
    get directory() {
      return config['backup.dir'];
    },
    isListeningBeyondLoopback: address === undefined || !isLoopback(address.host),
  };
}

/** What is told of the disk, and what gives of it back. */
function diskOf(
  ground: Ground,
  needs: WorkNeeds,
  backups: Backups,
): Pick<OpsContext, 'disk' | 'storage' | 'vacuum'> {
  const meter = createStorageMeter(storageFolders(needs.root), ground);
  const path = needs.root.layout.root;
  return {
    disk: async () => ({ path, ...(await ground.disk.space(path)) }),
    storage: () => meter.look(),
    vacuum: createVacuum(ground, needs, backups),
  };
}

/** Keys of deletions that were cut off stay shut from here on: nothing is taken for them before those have ended. */
function removalOver(
  { clock, chance }: Ground,
  { control, stores, permit }: WorkNeeds,
  drain: Drain,
  backups: Pick<Backups, 'isRunning'>,
): SessionRemoval | undefined {
  if (stores.removal === undefined) return undefined;
  const removal = createSessionRemoval({
    rows: control.removals,
    ...stores.removal,
    objects: stores.objects,
    drain,
    permit,
    clock,
    chance,
    assertQuiet() {
      if (backups.isRunning) throw backupRunning({});
      // The rows of a restored graph are set first: one that came after a deletion would belong to nothing.
      if (stores.bond.restoredFrom !== null) throw recovering({});
    },
  });
  removal.resume();
  return removal;
}

function deskNeeds(
  { clock, chance }: Ground,
  { control, stores: { queue, neighbours, graph } }: WorkNeeds,
  over: Pick<Parameters<typeof createDesk>[0], 'redact' | 'wake'>,
): Parameters<typeof createDesk>[0] {
  const folding = { fold, spillBytes: graph.spillBytes };
  return { queue, neighbours, folding, clock, chance, control, ...over };
}

function ingestOver(
  { clock, options }: Ground,
  { stores: { queue } }: WorkNeeds,
  over: Pick<IngestOptions, 'onAppended' | 'redact'>,
): Ingest {
  const { config } = options.loaded;
  return createIngest({
    queue,
    ledger: queue,
    clock,
    limits: ingestLimits(config),
    keyEncoding: config['queue.key_encoding'],
    ...over,
  });
}

/** Joins the stores with what works on them; nothing runs yet. */
export function startWork(ground: Ground, needs: WorkNeeds): StartedWork {
  const { clock, chance, options } = ground;
  const { root, permit, control, stores, tokens } = needs;
  const { config } = options.loaded;
  const { queue, bond, logs, lifeCycle, graph, objects, expectedGraphId } = stores;
  const rootId = root.marker.storageRootId;
  const drain = createDrain(
    {
      queue,
      ledger: queue,
      lifeCycle,
      graph,
      objects,
      permit,
      rootId,
      expectedGraphId,
      clock,
      chance,
      onStop: (error) => ground.fail(error),
    },
    { settings: drainSettings(config), isThreaded: true },
  );
  const onAppended = (key: Parameters<Drain['wake']>[0]): void => drain.wake(key);
  const redact = createRedaction(redactRules(config));
  const ingest = ingestOver(ground, needs, { onAppended, redact });
  const desk = createDesk(deskNeeds(ground, needs, { redact, wake: onAppended }));
  const backups = createBackups(
    ground,
    { root, permit, control, stores, drain, loaded: options.loaded, clock },
    backupRules(root.layout.root, config),
    () => removal,
  );
  const removal = removalOver(ground, needs, drain, backups);
  const { operations } = desk;
  const isBackupRunning = (): boolean => backups.isRunning;
  const given = { config, control, stores, drain, removal, operations, clock, isBackupRunning };
  const retention = createRootRetention(given);
  const context: OpsContext = {
    queue,
    ledger: queue,
    compaction: compactionOf(lifeCycle, config),
    graph,
    objects: { ...control.expiredObjects, read: (sha256) => objects.read(sha256) },
    drain,
    ...desk,
    journalLagBytes: stores.journalLagBytes,
    tokens,
    removal,
    retention,
    repair: createKeyRepair({ logs, graph, permit, rootId, drain, clock }),
    clock,
    startedMs: clock.monotonic(),
    versions: versionsOf(options.version, queue.protocolVersion),
    get limits() {
      return publishedLimits(config, graph.spillBytes);
    },
    settings: ground.settings,
    adopt: (order) => adoptGraph({ bond, ledger: queue, graph, permit, rootId, drain }, order),
    backup: (order) => backups.create(order),
    state: () => ground.phase.phase,
    degraded: needs.degraded,
    ...diskOf(ground, needs, backups),
  };
  return { ingest, context, drain, backups, removal, retention };
}
