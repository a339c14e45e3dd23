import { type Clock, type Timer, isMillraceError } from '#base';
import type { KeyGuard, KeyLocks } from '#queue';
import type { KeyState } from './key-state.ts';
import type { SessionFiles } from './session-files.ts';

/**
 * A session file is written at most so often, or after so many bytes (QFS-10). Nothing waits for it: the drain reads from memory what is not
 * there yet, and a start from the journal.
 */
const restMs = 200;
const lagBytesMax = 64 * 1024;
/**
 * Of many sessions each is written less often: a write costs 30 µs however little it brings, and 1000 sessions five times a second would take a
 * sixth of the main thread.
 */
const restMsPerFill = 1;
const restMsMax = 2_000;
const fillsAtOnce = 4;

export interface FillerOptions {
  readonly clock: Clock;
  readonly files: SessionFiles;
  /** Makes the session folder with generation file and offset record, before its log (ING-125). */
  readonly makeFolder: (state: KeyState, guard: KeyGuard) => Promise<void>;
  readonly locks: KeyLocks;
}

/** Carries durable lines into the session files behind the journal: one timer for all keys, none per key. */
export class Filler {
  readonly #options: FillerOptions;
  /** For the next round. */
  readonly #wanting = new Set<KeyState>();
  /** Those with so many bytes that they do not wait for it. */
  readonly #full = new Set<KeyState>();
  #isDue = false;
  #timer: Timer | undefined;
  /** How long the files rest after the last round. */
  #restMs = restMs;
  #running: Promise<void> | undefined;
  #isClosed = false;
  #trouble:
    | { readonly error: unknown; readonly since: number; readonly state: KeyState }
    | undefined;

  constructor(options: FillerOptions) {
    this.#options = options;
  }

  /** The last failure of a session file, while it lasts: its lines stay in memory and in the journal. */
  get trouble(): { readonly error: unknown; readonly since: number } | undefined {
    const { filledTo, end } = this.#trouble?.state ?? { filledTo: 0, end: 0 };
    return filledTo === end ? undefined : this.#trouble;
  }

  want(state: KeyState): void {
    if (this.#isClosed) return;
    if (state.end - state.filledTo <= lagBytesMax) {
      this.#later(state);
      return;
    }
    this.#full.add(state);
    this.#start();
  }

  /** Fills one key now; used by a checkpoint and by readers that must see the file. */
  async fillNow(state: KeyState, guard: KeyGuard): Promise<void> {
    if (state.filledTo === state.end || !state.hasSoundRecord || !state.isOpen) return;
    // Its log is on its way out.
    if (state.isFinalising) return;
    if (!state.hasFolder) await this.#options.makeFolder(state, guard);
    await this.#options.files.fill(state);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#wanting.clear();
    this.#full.clear();
    this.#isDue = false;
    await this.#running;
  }

  #later(state: KeyState): void {
    this.#wanting.add(state);
    this.#timer ??= this.#options.clock.after(this.#restMs, () => {
      this.#timer = undefined;
      this.#isDue = true;
      this.#restMs = Math.min(restMsMax, Math.max(restMs, restMsPerFill * this.#wanting.size));
      this.#start();
    });
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (!this.#isClosed && (this.#isDue || this.#full.size > 0)) this.#start();
    });
  }

  async #run(): Promise<void> {
    const states = [...(this.#isDue ? new Set([...this.#wanting, ...this.#full]) : this.#full)];
    if (this.#isDue) this.#wanting.clear();
    this.#isDue = false;
    this.#full.clear();
    let next = 0;
    const lane = async (): Promise<void> => {
      for (let state = states[next++]; state !== undefined; state = states[next++]) {
        try {
          await this.#fill(state);
          this.#trouble = undefined;
        } catch (error) {
          const since = this.#trouble?.since ?? this.#options.clock.now();
          this.#trouble = { error, since, state };
          // A disk that fails now may do later; a writer that is none any more never will.
          if (!isMillraceError(error) || error.disposition === 'retry') this.#later(state);
        }
      }
    };
    await Promise.all(Array.from({ length: fillsAtOnce }, lane));
  }

  async #fill(state: KeyState): Promise<void> {
    if (state.filledTo === state.end) return;
    await this.#options.locks.with(
      state.key,
      (guard) => this.fillNow(state, guard),
      undefined,
      'fill',
    );
  }
}
