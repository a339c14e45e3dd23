import type { MillraceError } from '#base';
import type { Cursor, Key, Position } from '#record';
import { workerChanged } from '#signals';
import type { WorkerState, WorkerView } from '../drain.ts';
import { assertMove } from './worker-state.ts';

/** What a worker folds from: taken from the stored record as a whole, or not at all (ING-501, ING-502). */
export interface Baseline {
  /** Cursor at the committed position. */
  readonly cursor: Cursor;
  /** The position that the cursor belongs to: a batch that begins elsewhere is not folded from it (ING-219). */
  readonly position: Position;
  /** Position of the graph's row when the worker armed; null when the graph held nothing. */
  readonly appliedThrough: Position | null;
}

/** One key's worker: its state, and what it knows between two batches. */
export class Worker {
  readonly key: Key;
  /** Undefined until it is armed, and again when it has to be rebuilt. */
  baseline: Baseline | undefined = undefined;
  /** A record came while it was at work: look again before going idle. */
  isWoken = false;
  /** The idle worker is asked to leave memory after one more read (ING-806). */
  isLeaving = false;
  /** Monotonic, ms. */
  idleSinceMs = 0;
  #state: WorkerState = 'starting';
  #attempts = 0;
  #error: { readonly code: string; readonly message: string } | null = null;

  constructor(key: Key) {
    this.key = key;
  }

  get state(): WorkerState {
    return this.#state;
  }

  /** Under which its troubles stand in the status. */
  get cause(): string {
    return `key ${this.key}`;
  }

  get attempts(): number {
    return this.#attempts;
  }

  /** The only place where the state changes. */
  moveTo(to: WorkerState, reason: string): void {
    const from = this.#state;
    assertMove(this.key, from, to);
    this.#state = to;
    workerChanged.publish(() => ({ key: this.key, from, to, reason }));
  }

  noteFailure({ code, message }: MillraceError): void {
    this.#attempts += 1;
    this.#error = { code, message };
  }

  noteSuccess(): void {
    this.#attempts = 0;
    this.#error = null;
  }

  view(): WorkerView {
    return { state: this.#state, attempts: this.#attempts, error: this.#error };
  }
}
