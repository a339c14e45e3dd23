import pLimit from 'p-limit';
import {
  Gate,
  backoffMs,
  isMillraceError,
  messageOf,
  watchCore,
  type Chance,
  type Clock,
  type MillraceError,
} from '#base';
import type { FencePermit } from '#fence';
import { graphMismatch, type GraphStore } from '#graph';
import { fold as foldOfHandlers } from '#handlers';
import type { ObjectStore } from '#objects';
import { draining, type LogLifeCycle, type QueueBackend, type QueueLedger } from '#queue';
import type { Key, Position } from '#record';
import { KeyArmer } from './arm/arm-keys.ts';
import { Bell } from './worker/bell.ts';
import { ByteBudget } from './byte-budget.ts';
import type { Drain, DrainStatus, StopReport, WorkerView } from './drain.ts';
import type { Engine } from './engine.ts';
import { drainFailed } from './errors.ts';
import { inlineFolder } from './fold/folder.ts';
import { DrainPace, unpaced } from './pace/drain-pace.ts';
import { GroupApplier } from './group-applier.ts';
import { Pauses } from './worker/pauses.ts';
import type { Fold } from './fold/plan-batch.ts';
import { PositionWaiters } from './worker/position-waiters.ts';
import { Registry } from './registry.ts';
import { runWorker } from './worker/run-worker.ts';
import { drainSettingsDefault, type DrainSettings } from './settings.ts';
import { threadFolder } from './fold/thread-folder.ts';
import { Troubles } from './worker/troubles.ts';

export interface DrainDependencies {
  readonly queue: QueueBackend;
  readonly ledger: QueueLedger;
  /** Of a queue of log files: ends the epoch of a session that has ended (ING-807). */
  readonly lifeCycle?: LogLifeCycle;
  readonly graph: GraphStore;
  readonly objects: ObjectStore;
  readonly permit: FencePermit;
  /** Id of the queue's root, as the rows of its keys carry it (ING-540). */
  readonly rootId: string;
  /** The graph that this root has met before; undefined at their first meeting. */
  readonly expectedGraphId: string | undefined;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Called once, when every write has to stop: we are no longer the writer, or cannot work as configured (ING-519). */
  onStop(error: MillraceError): void;
}

export interface DrainOptions {
  readonly settings?: Partial<DrainSettings>;
  /** For tests; `fold` of room handlers otherwise. */
  readonly fold?: Fold;
  /** Folds in a thread of its own; a fold of the tests' own never does. */
  readonly isThreaded?: boolean;
}

/** Values written at once, over all keys. */
const putsMax = 8;

export function createDrain(dependencies: DrainDependencies, options: DrainOptions = {}): Drain {
  const settings = { ...drainSettingsDefault, ...options.settings };
  const { fold = foldOfHandlers, isThreaded = false } = options;
  const pauses = new Pauses(dependencies.clock);
  const pace = isThreaded
    ? new DrainPace({ ...dependencies, pauses, waitedMs: watchCore() })
    : unpaced;
  const folder = isThreaded
    ? threadFolder({ ...dependencies, settings, pace })
    : inlineFolder(fold);
  return new QueueDrain(dependencies, settings, { fold, folder, pauses, pace });
}

class QueueDrain implements Drain {
  readonly #deps: DrainDependencies;
  readonly #settings: DrainSettings;
  readonly #registry: Registry;
  readonly #engine: Engine;
  readonly #troubles: Troubles;
  readonly #pauses: Pauses;
  readonly #gate = new Gate();
  readonly #positions = new PositionWaiters();
  readonly #quiet = new Bell();
  #isStarted = false;
  #isStopping = false;
  /** The graph is not the one of this root: nothing is drained (ING-541). */
  #isForeignGraph = false;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(
    dependencies: DrainDependencies,
    settings: DrainSettings,
    parts: Pick<Engine, 'fold' | 'folder' | 'pauses' | 'pace'>,
  ) {
    const { clock, graph, permit } = dependencies;
    this.#deps = dependencies;
    this.#settings = settings;
    this.#troubles = new Troubles(clock);
    this.#pauses = parts.pauses;
    const applier = new GroupApplier({ ...dependencies, settings, troubles: this.#troubles });
    this.#engine = {
      ...dependencies,
      ...parts,
      settings,
      applier,
      troubles: this.#troubles,
      armer: new KeyArmer(graph, permit),
      held: new ByteBudget(settings.heldBytesMax),
      gate: this.#gate,
      putLimit: pLimit({ concurrency: putsMax, rejectOnClear: true }),
      isStopping: () => this.#isStopping,
      mustYield: () => this.#registry.mustYield(),
      paused: (wait) => this.#registry.paused(wait),
      committed: (key, after) => this.#committed(key, after),
      stopAll: (error) => this.#stopAll(error),
    };
    this.#registry = new Registry({
      settings,
      run: (worker) => runWorker(this.#engine, worker),
      monotonicMs: () => clock.monotonic(),
      onQuiet: () => this.#quiet.ring(),
      onBug: (error) =>
        this.#troubles.raise('bug', drainFailed({ key: 'a key', reason: messageOf(error) })),
    });
  }

  start(): void {
    if (this.#isStarted || this.#isStopping) return;
    this.#isStarted = true;
    const { graph, expectedGraphId } = this.#deps;
    if (expectedGraphId !== undefined && graph.graphId !== expectedGraphId) {
      this.#isForeignGraph = true;
      this.#troubles.raise('graph', {
        code: graphMismatch.code,
        message: `nothing is drained: this is the graph ${graph.graphId}, the root belongs to ${expectedGraphId}; start with the right graph, or see "graph adopt"`,
      });
      return;
    }
    this.#sweeping = this.#sweepForever();
  }

  adopted(keys: readonly Key[] | 'all'): void {
    if (keys === 'all' && this.#isForeignGraph) {
      this.#isForeignGraph = false;
      this.#troubles.clear('graph');
      if (this.#isStarted && !this.#isStopping) this.#sweeping = this.#sweepForever();
    }
    for (const key of keys === 'all' ? this.#registry.haltedKeys('mismatched') : keys)
      this.resume(key);
  }

  pause(signal: AbortSignal): Promise<() => void> {
    return this.#gate.hold(signal);
  }

  wake(key: Key): void {
    this.#engine.pace.appended();
    if (this.#isAtWork) this.#registry.wake(key);
  }

  resume(key: Key): void {
    this.#troubles.clear(`key ${key}`);
    if (this.#isAtWork) this.#registry.resume(key);
  }

  status(): DrainStatus {
    const workers = this.#registry.countStates();
    return {
      workers,
      waitingKeys: this.#registry.waitingCount,
      mismatchedKeys: workers.mismatched ?? 0,
      groupsInFlight: this.#engine.applier.groupsInFlight,
      share: this.#engine.pace.share,
      trouble: this.#troubles.list(),
    };
  }

  worker(key: Key): WorkerView | undefined {
    return this.#registry.view(key);
  }

  async idle(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#isStopping) throw draining({ what: 'the drain' });
      if (this.#isAtWork && this.#registry.isQuiet) {
        const keys = await this.#deps.queue.activeKeys();
        const left = keys.filter((key) => !this.#registry.isHalted(key));
        if (left.length === 0 && this.#registry.isQuiet) return;
        this.#registry.enqueue(left);
      }
      await this.#quiet.next(signal);
    }
  }

  async waitApplied(key: Key, position: Position, signal: AbortSignal): Promise<void> {
    const own = new AbortController();
    const either = AbortSignal.any([signal, own.signal]);
    const passed = this.#positions.wait(key, position, either);
    const status = await this.#deps.ledger.keyStatus(key).catch((error: unknown) => {
      own.abort(error);
      return undefined;
    });
    if (status !== undefined && status.committed >= position)
      this.#positions.passed(key, status.committed);
    return passed;
  }

  async stop(deadlineMs: number): Promise<StopReport> {
    this.#halt();
    const ended = Promise.all([this.#registry.close(), this.#sweeping]).then(() => true);
    const { clock } = this.#deps;
    const { promise: overdue, resolve } = Promise.withResolvers<boolean>();
    const timer = clock.after(deadlineMs, () => resolve(false));
    const isClean = await Promise.race([ended, overdue]);
    timer.cancel();
    await this.#engine.folder.close();
    return { isClean, abandonedKeys: this.#registry.runningCount };
  }

  get #isAtWork(): boolean {
    return this.#isStarted && !this.#isStopping && !this.#isForeignGraph;
  }

  #committed(key: Key, after: Position): void {
    this.#registry.grow();
    this.#positions.passed(key, after);
  }

  #halt(): void {
    this.#isStopping = true;
    this.#engine.applier.stop();
    this.#engine.held.open();
    this.#engine.pace.open();
    this.#gate.break();
    this.#pauses.close();
    this.#quiet.ring();
  }

  #stopAll(error: MillraceError): void {
    if (this.#isStopping) return;
    this.#halt();
    this.#troubles.raise('stop', error);
    this.#deps.onStop(error);
  }

  /** The hint of a wake may be lost, a sweep is not: one for all keys, never one per key (ING-416). */
  async #sweepForever(): Promise<void> {
    let failures = 0;
    while (!this.#isStopping) {
      try {
        const keys = await this.#deps.queue.activeKeys();
        if (this.#isAtWork) {
          this.#registry.enqueue(keys);
          this.#registry.retireIdle();
        }
        failures = 0;
        this.#troubles.clear('sweep');
      } catch (error) {
        failures += 1;
        const fault = isMillraceError(error)
          ? error
          : drainFailed({ key: 'all keys', reason: messageOf(error) }, error);
        this.#troubles.raise('sweep', fault);
      }
      const { pollMs, backoff } = this.#settings;
      await this.#pauses.pause(
        failures === 0 ? pollMs : backoffMs(backoff, failures, this.#deps.chance),
      );
      this.#quiet.ring();
    }
  }
}
