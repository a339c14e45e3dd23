import { assert } from '#base';
import type { Key } from '#record';
import type { WorkerState, WorkerView } from './drain.ts';
import type { RunEnd } from './worker/run-worker.ts';
import type { DrainSettings } from './settings.ts';
import { Worker } from './worker/worker.ts';

export interface RegistryDependencies {
  readonly settings: DrainSettings;
  /** Runs a worker to the end of its run; never rejects but for a bug. */
  readonly run: (worker: Worker) => Promise<RunEnd>;
  readonly monotonicMs: () => number;
  /** Said whenever nothing runs and nothing waits, and when a key halts. */
  readonly onQuiet: () => void;
  readonly onBug: (error: unknown) => void;
}

/** A sweep puts keys in line once no more than this part of its share is left of the last one's. */
const leftInLine = 1 / 4;
/** Workers asked to leave by one sweep. */
const leavingMax = 256;

/**
 * Which keys have a worker: at most one each (ING-401), a bounded number at work, the rest in line. Idle workers stay for a while for their
 * cursor; there is no timer and no poll for any of them (ING-808).
 */
export class Registry {
  readonly #deps: RegistryDependencies;
  /** All workers in memory, those at work and idle ones. */
  readonly #workers = new Map<Key, Worker>();
  readonly #running = new Map<Key, Promise<void>>();
  /** Longest idle first. */
  readonly #idle = new Set<Worker>();
  /** Keys in line for a worker, first come first served. */
  readonly #waiting = new Set<Key>();
  readonly #halted = new Map<Key, WorkerView>();
  #workersMax: number;
  /** Runs that wait for their next try: they take nobody's place, or some dozens of bad logs would stop all others (P7). */
  #pausing = 0;
  #isClosed = false;

  constructor(dependencies: RegistryDependencies) {
    this.#deps = dependencies;
    this.#workersMax = dependencies.settings.respawnLimit;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  get isQuiet(): boolean {
    return this.#running.size === 0 && this.#waiting.size === 0;
  }

  /** Safe at any time and as often as one likes; a halted key stays as it is. */
  wake(key: Key): void {
    if (this.#isClosed || this.#halted.has(key)) return;
    if (this.#running.has(key)) {
      const worker = this.#workers.get(key);
      if (worker !== undefined) worker.isWoken = true;
      return;
    }
    this.#waiting.add(key);
    this.#startWaiting();
  }

  /** For a sweep: puts keys in line that have no worker at work, as many as are soon needed; the next sweep has the rest. */
  enqueue(keys: Iterable<Key>): void {
    const { enqueuedMax } = this.#deps.settings;
    let left = this.#waiting.size < enqueuedMax * leftInLine ? enqueuedMax : 0;
    for (const key of keys) {
      if (left === 0 || this.#isClosed) break;
      if (this.#running.has(key) || this.#waiting.has(key) || this.#halted.has(key)) continue;
      left -= 1;
      this.#waiting.add(key);
    }
    this.#startWaiting();
  }

  /** Lets a halted key be drained again. */
  resume(key: Key): void {
    this.#halted.delete(key);
    this.wake(key);
  }

  isHalted(key: Key): boolean {
    return this.#halted.has(key);
  }

  haltedKeys(state: WorkerState): readonly Key[] {
    return [...this.#halted].filter(([, view]) => view.state === state).map(([key]) => key);
  }

  view(key: Key): WorkerView | undefined {
    return this.#halted.get(key) ?? this.#workers.get(key)?.view();
  }

  /** Keys by the state of their worker. */
  countStates(): Partial<Record<WorkerState, number>> {
    const counts: Partial<Record<WorkerState, number>> = {};
    const count = (state: WorkerState): void => {
      counts[state] = (counts[state] ?? 0) + 1;
    };
    for (const { state } of this.#workers.values()) count(state);
    for (const { state } of this.#halted.values()) count(state);
    return counts;
  }

  /** One more worker at a time, as long as work gets done: a start with a large backlog begins gently (ING-826). */
  grow(): void {
    if (this.#workersMax < this.#deps.settings.workersMax) this.#workersMax += 1;
    this.#startWaiting();
  }

  mustYield(): boolean {
    return this.#waiting.size > 0 && this.#isFull;
  }

  /** A run that waits for its next try lets others work meanwhile. */
  async paused(wait: () => Promise<void>): Promise<void> {
    this.#pausing += 1;
    this.#startWaiting();
    try {
      await wait();
    } finally {
      this.#pausing -= 1;
    }
  }

  get #isFull(): boolean {
    const { size } = this.#running;
    return size - this.#pausing >= this.#workersMax || size >= this.#deps.settings.runsMax;
  }

  /** Asks the longest idle workers to read once more and to leave (ING-806). */
  retireIdle(): void {
    const before = this.#deps.monotonicMs() - this.#deps.settings.idleExitMs;
    let left = leavingMax;
    for (const worker of this.#idle) {
      if (worker.idleSinceMs > before || left === 0) break;
      left -= 1;
      worker.isLeaving = true;
      this.#waiting.add(worker.key);
    }
    this.#startWaiting();
  }

  /** Nobody starts any more; resolves when all runs have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiting.clear();
    await Promise.all(this.#running.values());
    for (const worker of this.#idle) worker.moveTo('stopped', 'the drain stops');
    this.#idle.clear();
    this.#workers.clear();
  }

  get runningCount(): number {
    return this.#running.size;
  }

  #startWaiting(): void {
    for (const key of this.#waiting) {
      if (this.#isFull || this.#isClosed) return;
      this.#waiting.delete(key);
      const worker = this.#workers.get(key) ?? new Worker(key);
      this.#workers.set(key, worker);
      this.#idle.delete(worker);
      this.#running.set(key, this.#runOne(worker));
    }
  }

  async #runOne(worker: Worker): Promise<void> {
    // The map must hold the run before it can end.
    await Promise.resolve();
    let end: RunEnd = 'stopped';
    try {
      end = await this.#deps.run(worker);
    } catch (error) {
      this.#deps.onBug(error);
    }
    this.#settle(worker, end);
  }

  #settle(worker: Worker, end: RunEnd): void {
    const { key } = worker;
    const isLeaving = worker.isLeaving && !worker.isWoken;
    worker.isLeaving = false;
    this.#running.delete(key);
    if (end === 'halted') {
      this.#workers.delete(key);
      this.#halted.set(key, worker.view());
      this.#deps.onQuiet();
    } else if (end === 'stopped') {
      this.#workers.delete(key);
    } else {
      assert(worker.state === 'idle', `a worker that ran to its end is idle, not ${worker.state}`);
      if (end === 'yielded' || worker.isWoken) this.#waiting.add(key);
      this.#rest(worker, isLeaving && end === 'empty');
    }
    this.#startWaiting();
    if (this.isQuiet) this.#deps.onQuiet();
  }

  #rest(worker: Worker, isLeaving: boolean): void {
    const { idleWorkersMax } = this.#deps.settings;
    const isNeeded = this.#waiting.has(worker.key);
    if (!isNeeded && (isLeaving || this.#idle.size >= idleWorkersMax)) {
      this.#workers.delete(worker.key);
      worker.moveTo('stopped', 'idle');
      return;
    }
    worker.idleSinceMs = this.#deps.monotonicMs();
    this.#idle.add(worker);
  }
}
