import { type Clock, type Timer, isMillraceError } from '#base';
import type { KeyGuard, KeyLocks } from '#queue';
import type { KeyState } from './key-state.ts';
import type { SessionFiles } from './session-files.ts';

/** At most this long, and this many bytes, a session file lags behind the journal (QFS-10). */
const lagMsMax = 200;
const lagBytesMax = 64 * 1024;
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
  readonly #wanting = new Set<KeyState>();
  #timer: Timer | undefined;
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
    this.#wanting.add(state);
    if (state.end - state.filledTo > lagBytesMax) this.#start();
    else
      this.#timer ??= this.#options.clock.after(lagMsMax, () => {
        this.#timer = undefined;
        this.#start();
      });
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
    await this.#running;
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async #run(): Promise<void> {
    const states = [...this.#wanting];
    this.#wanting.clear();
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
          if (!isMillraceError(error) || error.disposition === 'retry') this.want(state);
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
