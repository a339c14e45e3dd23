import { isMillraceError, type Chance } from '#base';
import { failingDisk, type FailingDisk, type MemoryDisk, type PowerLoss } from '#disk';
import { createDeadLetters, type DeadLetters } from '#dead-letters';
import { labPermit, labRootId, type FencePermit } from '#fence';
import {
  copyMemoryGraph,
  emptyMemoryGraph,
  openMemoryGraph,
  type MemoryGraph,
  type MemoryGraphContent,
} from '#graph/memory';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { memoryState, type MemoryState } from '#state';
import { labDisk, openLabQueue } from '../lab-queue.ts';
import { seededChance } from '../seeded-chance.ts';
import { simulatedClock, type SimulatedClock } from '../simulated-clock.ts';

/** How a life may end without being told. */
export const endings = ['killed', 'kept', 'lost', 'torn', 'torn'] as const;
export type Ending = (typeof endings)[number];

/** Segments so small that a few records roll them. */
const limits = { segmentBytes: 8 * 1024 };

/** Puts a defect into a queue, to see whether a run finds it; the real queue comes back as it is. */
export type Spoil = (queue: FilesystemQueue) => FilesystemQueue;

/** What is open while one daemon lives. */
export interface Life {
  readonly permit: FencePermit;
  readonly disk: FailingDisk;
  readonly state: MemoryState;
  readonly queue: FilesystemQueue;
  readonly graph: MemoryGraph;
  readonly letters: DeadLetters;
  readonly clock: SimulatedClock;
  /** The daemon is gone: what it still does is refused, and reaches nothing that is looked at. */
  end(): void;
}

/** Disk, state and graph of one root, and the daemon that lives on them. */
export class World {
  readonly chance: Chance;
  readonly #spoil: Spoil;
  #generation = 0;
  #disk: MemoryDisk = labDisk();
  #state: MemoryState = memoryState();
  #content: MemoryGraphContent = emptyMemoryGraph();
  #life: Life | undefined;

  constructor(seed: number, spoil: Spoil) {
    this.chance = seededChance(seed);
    this.#spoil = spoil;
  }

  get life(): Life {
    if (this.#life === undefined) throw new TypeError('the world is open');
    return this.#life;
  }

  get content(): MemoryGraphContent {
    return this.#content;
  }

  async open(): Promise<void> {
    this.#generation += 1;
    let isLive = true;
    const generation = this.#generation;
    const permit = labPermit(generation, () => isLive);
    const clock = simulatedClock(Date.UTC(2026, 0, 1) + generation * 60_000);
    const disk = failingDisk(this.#disk);
    const state = this.#state;
    const queue = this.#spoil(
      await openLabQueue({ disk, state, clock, permit, generation, limits }),
    );
    const graph = openMemoryGraph({ rootId: labRootId, content: this.#content });
    const letters = createDeadLetters({ queue, ledger: queue, wake: () => undefined });
    const end = (): void => {
      isLive = false;
    };
    this.#life = { permit, disk, state, queue, graph, letters, clock, end };
  }

  /** A stop in order, and the next start. */
  async restart(): Promise<void> {
    await this.#stop();
    this.#state = memoryState({ from: this.#state.snapshot() });
    await this.open();
  }

  /** The process is gone in this very step, or the power is; then the next start. */
  async crash(ending: Ending): Promise<void> {
    const { end } = this.life;
    end();
    this.#content = copyMemoryGraph(this.#content);
    if (ending === 'killed') {
      this.#disk = this.#disk.copy();
      this.#state = memoryState({ from: this.#state.snapshot() });
    } else {
      this.#disk = this.#disk.afterPowerLoss(this.#lossOf(ending));
      const left = this.#state.snapshots();
      const from = left[Math.floor(this.chance.float() * left.length)];
      this.#state = memoryState(from === undefined ? {} : { from });
    }
    await this.open();
  }

  async close(): Promise<void> {
    await this.#stop();
    await this.life.graph.close();
  }

  /** A journal that has not healed yet says so, and leaves what kill -9 would. */
  async #stop(): Promise<void> {
    const { disk, queue } = this.life;
    disk.heal();
    try {
      await queue.close();
    } catch (error) {
      if (!isMillraceError(error) || error.disposition !== 'retry') throw error;
    }
  }

  #lossOf(ending: Exclude<Ending, 'killed'>): PowerLoss {
    const entries = ending === 'torn' ? 'mixed' : ending;
    const failedSyncs = ending === 'kept' || this.chance.float() < 0.5 ? 'kept' : 'lost';
    return { bytes: ending, entries, failedSyncs, chance: this.chance };
  }
}
