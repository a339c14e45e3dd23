import { createAccess, openTokenStore, type Access, type TokenStore } from '#access';
import { assert } from '#base';
import { parseAddress } from '#config';
import type { ControlDatabase } from '#control';
import { createConsole } from '#console';
import { armFailpoints, openFilesMax } from '#disk';
import { tenureLost, type FencePermit } from '#fence';
import { createHttpServer, type HttpServer } from '#http';
import type { SessionRemoval } from '#keeping';
import { degradations, verbs, type Degradation, type OpsContext } from '#ops';
import { reserveBytesOf } from '#queue';
import { bindRoot, removeDaemonFile, writeDaemonFile, type BoundRoot } from '#roots';
import { startMetrics, tenureTaken } from '#signals';
import { pushTelemetry } from '../watch/push-telemetry.ts';
import { adoptRestored, type RestoredAdoption } from '../offline/adopt-restored.ts';
import { openVouched, type Vouch } from './open-vouched.ts';
import { openStores, type Stores } from '../assemble.ts';
import { degradedByRemoval } from '../watch/degraded-by-removal.ts';
import type { Ground, ReadyDaemon } from '../daemon.ts';
import { createFront, type Front } from './front.ts';
import { healthOf } from '../watch/health.ts';
import { keepTraces } from '../watch/keep-traces.ts';
import { metricsSnapshot } from '../watch/metrics-snapshot.ts';
import { planOpenFiles, type OpenFilesPlan } from '../settings.ts';
import { degradedByChanges } from './changed-stores.ts';
import { compareGraph } from './compare-graph.ts';
import { reconcileDead } from './reconcile-dead.ts';
import { startDesk, type Desk } from '../desk/start-desk.ts';
import { startWork } from './start-work.ts';
import { takeOver } from './take-over.ts';
import { watchDegraded } from '../watch/watch-degraded.ts';
import { watchGraph } from '../watch/watch-graph.ts';
import { degradedByLosses } from '../offline/set-aside.ts';
import { watchResidual } from '../watch/watch-residual.ts';
import { watchRootLock } from '../watch/watch-root-lock.ts';

/** What is known of a boot so far; the doors look at it while it goes on. */
export interface Progress {
  permit: FencePermit | undefined;
  context: OpsContext | undefined;
  degraded: () => readonly Degradation[];
  /** Dead letters that retention will discard soon. */
  expiring: () => number;
  /** The root is another's by now: its files are left to it (ING-310). */
  isLost: boolean;
}

export type OpenGround = Ground & { readonly openFiles: OpenFilesPlan };

/** Share of the time left that workers get; the checkpoint and the stores need the rest. */
const drainShare = 0.7;
/** Requests in flight are answered within this once the stores are closed. */
const doorGraceMs = 2000;

/**
 * The order of a start (ING-820): root lock, marker, control database, listener, tenure, stores with their recovery, work, ready. What is
 * opened goes to the closers at once, so that a stop at any step closes it in reverse. Undefined when a stop came first.
 */
export async function boot(given: Ground): Promise<ReadyDaemon | undefined> {
  const progress: Progress = {
    permit: undefined,
    context: undefined,
    degraded: () => [],
    expiring: () => 0,
    isLost: false,
  };
  const root = await bind(given);
  const ground = await withOpenFiles(given);
  if (ground.stopping.aborted) return undefined;
  const tokens = await openTokens(ground, root);
  const front = createFront();
  const url = await openDoor(ground, progress, root, tokens, front);
  if (ground.stopping.aborted) return undefined;
  ground.phase.enter('recovering', `listening at ${url}`);
  const { control, vouch } = await openVouched(ground, root);
  const stores = await openWithTenure(ground, progress, root, { control, vouch });
  if (ground.stopping.aborted) return undefined;
  const changes = await degradedByChanges(ground, root.layout);
  beginWork(ground, progress, root, { control, vouch, tokens, stores, front, changes });
  ground.phase.enter('ready', `${root.layout.root} is served at ${url}`);
  return { url, root: root.layout.root, isNewRoot: root.isNew };
}

/** With the share of the process's descriptors that each part may hold. */
export async function withOpenFiles(ground: Ground): Promise<OpenGround> {
  const connectionsMax = ground.options.loaded.config['http.max_connections'];
  return { ...ground, openFiles: planOpenFiles(await openFilesMax(ground.disk), connectionsMax) };
}

/** Takes the root for this process: its lock first, then all else. */
export async function bind(ground: Ground): Promise<BoundRoot> {
  const { options, disk, clock, chance, names, closers } = ground;
  const keyEncoding = options.loaded.config['queue.key_encoding'];
  const root = await bindRoot(options.root, { disk, clock, chance, names, keyEncoding });
  closers.add('root lock', () => root.lock.release());
  ground.startLog();
  if (options.failpoints !== undefined)
    armFailpoints(options.failpoints, { isLabRoot: root.marker.isLab, clock });
  return root;
}

export function openTokens(ground: Ground, root: BoundRoot): Promise<TokenStore> {
  const { options, disk, clock, chance, names } = ground;
  const path = options.loaded.config['auth.tokens_file'] ?? root.layout.tokens;
  return openTokenStore({ disk, path, names, clock, chance });
}

/** Listens before the stores are open, so that probes are answered during a long recovery. */
async function openDoor(
  ground: OpenGround,
  progress: Progress,
  root: BoundRoot,
  tokens: TokenStore,
  front: Front,
): Promise<string> {
  const { options, clock, chance, disk, names, closers } = ground;
  const { config } = options.loaded;
  const address = parseAddress(config['http.listen']);
  assert(address !== undefined, 'http.listen was checked when the configuration was loaded');
  const access: Access = createAccess({
    tokens,
    clock,
    mode: config['auth.mode'],
    listenHost: address.host,
    allowedHosts: config['http.allowed_hosts'],
    rootId: root.marker.storageRootId,
  });
  const { totalBytes } = await disk.space(root.layout.root);
  const metrics = startMetrics({
    version: options.version,
    snapshot: () =>
      metricsSnapshot(
        progress.context,
        progress.permit,
        reserveBytesOf(config['queue.reserve_bytes'], totalBytes),
        progress.expiring(),
      ),
  });
  closers.add('metrics', () => metrics.stop());
  pushTelemetry(ground, metrics, () => progress.context !== undefined);
  const kept = await keepTraces(ground, root.layout.traces);
  closers.add('traces', () => kept.end(!progress.isLost));
  const server: HttpServer = createHttpServer({
    ingest: front.ingest,
    context: front.context,
    access,
    verbs,
    clock,
    chance,
    metrics,
    traces: kept.traces,
    batchBytesMax: config['ingest.max_batch_bytes'],
    connectionsMax: ground.openFiles.connectionsMax,
    console: createConsole({ disk: ground.disk }),
    health: () =>
      healthOf(ground.phase.phase, progress.context?.ledger.trouble() ?? [], [
        ...(progress.context?.drain.status().trouble ?? []),
        ...progress.degraded(),
      ]),
  });
  const { url } = await server.listen(address);
  closers.add('http', () => server.close(doorGraceMs));
  const hint = {
    url: localUrl(url),
    pid: process.pid,
    started: new Date(clock.now()).toISOString(),
  };
  await writeDaemonFile(disk, root.layout.daemonFile, hint, names);
  closers.add('daemon.json', async () => {
    if (!progress.isLost) await removeDaemonFile(disk, root.layout.daemonFile);
  });
  return url;
}

/** A listener on all addresses is reached by people of this machine on the loopback one. */
function localUrl(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** Takes the tenure and opens the stores with it; a lost lock ends both (ING-310). */
export async function openWithTenure(
  ground: OpenGround,
  progress: Progress,
  root: BoundRoot,
  { control, vouch }: Pick<Opened, 'control' | 'vouch'>,
): Promise<Stores> {
  const { options, clock, chance, disk, names, closers, openFiles } = ground;
  const storageRootId = root.marker.storageRootId;
  const { config } = options.loaded;
  const order = { storageRootId, holder: 'daemon', chance };
  const means = { config, root, disk, names, clock, chance, stopping: ground.stopping };
  const taken = await takeOver(control, order, clock, ({ permit }, opened) =>
    openStores(
      { ...means, permit, logHandlesMax: openFiles.logHandlesMax, left: vouch.verdicts },
      opened,
    ),
  );
  const { tenure, stores } = taken;
  progress.permit = tenure.permit;
  tenureTaken.publish(() => ({
    domain: tenure.permit.domain,
    generation: tenure.permit.generation,
  }));
  closers.add('tenure', () => {
    if (!progress.isLost) tenure.release();
  });
  taken.closers.moveTo(closers);
  const endWatch = watchRootLock(clock, root.lock, (reason) => {
    progress.isLost = true;
    tenure.lose();
    const { domain, generation } = tenure.permit;
    ground.fail(tenureLost({ domain, generation, reason }));
  });
  closers.add('watch over the root lock', endWatch);
  return stores;
}

/** The root is another's by now, or a store is known to be damaged: what this process leaves is nothing to rely on. */
export function isUnsure(
  { isLost }: Pick<Progress, 'isLost'>,
  stores: Pick<Stores, 'isDamaged'>,
): boolean {
  return isLost || stores.isDamaged();
}

interface Opened {
  readonly control: ControlDatabase;
  readonly vouch: Vouch;
  readonly tokens: TokenStore;
  readonly stores: Stores;
  readonly front: Front;
  readonly changes: readonly Degradation[];
}

function beginWork(
  ground: Ground,
  progress: Progress,
  root: BoundRoot,
  { control, vouch, tokens, stores, front, changes }: Opened,
): void {
  const { options, clock, closers } = ground;
  const { permit } = progress;
  assert(permit !== undefined, 'the tenure is taken before work begins');
  const graceMs = options.loaded.config['metrics.residual_grace_ms'];
  const residual = watchResidual(clock, () => stores.queue.totals(), graceMs);
  const watches = [residual, ...(stores.isGraphAServer ? [watchGraph(clock, stores.graph)] : [])];
  let adopting: RestoredAdoption | undefined;
  let keeping: Desk | undefined;
  const losses = [...degradedByLosses(stores.losses, clock.now()), ...changes];
  let removal: SessionRemoval | undefined;
  progress.degraded = () => [
    ...losses,
    ...[stores.graphDamage()].filter((damage) => damage !== undefined),
    ...watches.flatMap((watch) => watch.degraded()),
    ...(adopting?.degraded() ?? []),
    ...degradedByRemoval(removal),
    ...(keeping?.degraded() ?? []),
  ];
  const work = startWork(ground, {
    root,
    permit,
    control,
    stores,
    tokens,
    degraded: progress.degraded,
  });
  progress.context = work.context;
  front.open(work);
  adopting = adoptRestored(ground, stores.bond, work);
  keeping = startDesk(ground, control, work.context, work.retention);
  progress.expiring = keeping.expiring;
  const reconciling = reconcileDead(stores.logs);
  const { bond, graph } = stores;
  const rootId = root.marker.storageRootId;
  const comparing = compareGraph(
    { bond, graph, rootId, clock, drain: work.drain, afterDeletions: work.removal?.finish() },
    vouch.isAgreed && !stores.isGraphAServer,
  );
  // The file of a graph that is not in use speaks for no server.
  vouch.hasAgreed = () =>
    isUnsure(progress, stores) ? undefined : comparing.hasAgreed && !stores.isGraphAServer;
  const endDegradedWatch = watchDegraded(clock, () => degradations(work.context));
  // In reverse: no new requests, those in flight are answered, workers end at a batch border, then the stores close.
  closers.add('books', () => {
    for (const watch of watches) watch.end();
    endDegradedWatch();
    progress.context = undefined;
  });
  closers.add('front', () => front.shut());
  closers.add('drain', async (deadlineMs) => {
    const leftMs = deadlineMs - clock.monotonic();
    await work.drain.stop(clock.monotonic() + leftMs * drainShare);
  });
  closers.add('ingest', () => work.ingest.stop());
  closers.add('comparison with the graph', () => comparing.stop());
  closers.add('reconcile of dead letters', () => reconciling.stop());
  closers.add('adopt of a restored graph', () => adopting?.stop());
  closers.add('backup', () => work.backups.stop());
  removal = work.removal;
  closers.add('deletion of sessions', () => work.removal?.stop());
  closers.add('desk', () => keeping?.stop());
}
