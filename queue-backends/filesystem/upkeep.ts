import type { Timer } from '#base';
import { checkpoint } from './checkpoint.ts';
import type { Engine } from './engine.ts';
import { compactIdle } from './lifecycle/compact-idle.ts';

/** A checkpoint begins when this many segments' worth of journal is not in the session files yet. */
const checkpointSegments = 2;
/** How often the journal's growth and the waiting ids are looked at, and how much less often while that fails. */
const watchMs = 250;
const watchMsMax = 8_000;
/** Ids wait for the index for so many looks, two seconds, unless they are many: the more of a session go together, the less each costs. */
const indexLooks = 8;
const idsCrowded = 16_000;

/** Looks now and then whether the journal has grown enough for a checkpoint, and whether ids wait for the index, or logs to be compacted. One checkpoint at a time. */
export class Upkeep {
  readonly #engine: Engine;
  #running: Promise<void> | undefined;
  #compacting: Promise<void> | undefined;
  #timer: Timer | undefined;
  #waitMs = watchMs;
  #looks = 0;
  #isOver = false;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#schedule();
  }

  /** A call while one runs waits for the next: what came before the call is in it. */
  async checkpoint(): Promise<void> {
    await this.alone(() => checkpoint(this.#engine));
  }

  /** Runs a step beside which no mark moves. */
  async alone(step: () => Promise<void>): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    const run = this.#engine.filesGate.pass(step).finally(() => {
      this.#running = undefined;
    });
    this.#running = run;
    await run;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    this.#timer?.cancel();
    await this.#running?.catch(() => undefined);
    await this.#compacting?.catch(() => undefined);
  }

  /** Beside checkpoints and not within them: both hold a key at a time. */
  async #compact(): Promise<boolean> {
    if (this.#isOver) return true;
    this.#compacting = compactIdle(this.#engine);
    try {
      await this.#compacting;
      return true;
    } catch (error) {
      const { checkpointTrouble, options } = this.#engine;
      const since = checkpointTrouble?.since ?? options.clock.now();
      this.#engine.checkpointTrouble = { error, since };
      return false;
    }
  }

  #schedule(): void {
    if (!this.#isOver)
      this.#timer = this.#engine.options.clock.after(this.#waitMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    const isWell =
      (await this.#index()) && (await this.#checkpointIfDue()) && (await this.#compact());
    this.#waitMs = isWell ? watchMs : Math.min(this.#waitMs * 2, watchMsMax);
    this.#schedule();
  }

  /** The indexer tells its trouble by itself. */
  async #index(): Promise<boolean> {
    const { indexer, stateGate } = this.#engine;
    this.#looks += 1;
    const isDue = this.#looks % indexLooks === 0 || indexer.waitingCount > idsCrowded;
    if (!isDue || indexer.waitingCount === 0 || stateGate.isHeld) return true;
    const drained = stateGate.pass(() => indexer.drain());
    return drained.then(
      () => true,
      () => false,
    );
  }

  /** One that failed is due again, however little has come since: its trouble must not outlive its cause (QFS-31). */
  async #checkpointIfDue(): Promise<boolean> {
    const { options, checkpointTrouble, filesGate } = this.#engine;
    const isDue = this.#isJournalLarge() || checkpointTrouble !== undefined;
    if (this.#isOver || filesGate.isHeld || !isDue) return true;
    try {
      await this.checkpoint();
      return this.#engine.checkpointTrouble === undefined;
    } catch (error) {
      const since = checkpointTrouble?.since ?? options.clock.now();
      this.#engine.checkpointTrouble = { error, since };
      return false;
    }
  }

  /** On a disk that is nearly full a checkpoint gives room: what the session files have, the journal need not keep (QFS-30). */
  #isJournalLarge(): boolean {
    const { journal, space, options } = this.#engine;
    const { segmentBytes } = options.limits;
    return (
      journal.bytesSinceMark > checkpointSegments * segmentBytes ||
      (journal.bytesToGain > 0 && !space.hasRoomFor(segmentBytes))
    );
  }
}
