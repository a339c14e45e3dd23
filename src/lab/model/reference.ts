import { fold } from '#handlers';
import type { Step } from '#graph';
import { emptyCursor, parseLine, type Cursor, type Position } from '#record';
import { labKey } from '../records.ts';

export type Fate = 'pending' | 'applied' | 'dead' | 'requeued' | 'discarded';

/** One accepted record and what became of it. */
export interface ModelRecord {
  readonly n: number;
  readonly session: string;
  readonly eventId: string | undefined;
  readonly raw: Uint8Array;
  readonly position: Position;
  /** It took the place of a dead letter, so it was not accepted anew (ING-717). */
  readonly isRequeue: boolean;
  fate: Fate;
}

/** What a queue with its drain must come to, in lists: the model that the real one is compared with (ING-P01). */
export class Reference {
  readonly spillBytes: number = 32 * 1024;
  readonly #logs = new Map<string, ModelRecord[]>();
  readonly #cursors = new Map<string, Cursor>();
  readonly #steps = new Map<string, Step[]>();

  get sessions(): readonly string[] {
    return [...this.#logs.keys()];
  }

  log(session: string): readonly ModelRecord[] {
    return this.#logs.get(session) ?? [];
  }

  all(session: string, fate: Fate): readonly ModelRecord[] {
    return this.log(session).filter((record) => record.fate === fate);
  }

  cursor(session: string): Cursor {
    return this.#cursors.get(session) ?? emptyCursor();
  }

  /** What the graph must hold of a session: every applied record, folded in the order of the log. */
  steps(session: string): readonly Step[] {
    return this.#steps.get(session) ?? [];
  }

  /** `settles`: where the letter stands that an operator requeues. A client's re-send of a dead event finds its letter by the id (ING-515). */
  append(record: Omit<ModelRecord, 'fate' | 'isRequeue'>, settles?: Position): void {
    const log = this.#logs.get(record.session) ?? [];
    this.#logs.set(record.session, log);
    const { eventId } = record;
    const dead = log.find(
      (one) =>
        one.fate === 'dead' &&
        (one.position === settles || (eventId !== undefined && one.eventId === eventId)),
    );
    if (dead !== undefined) dead.fate = 'requeued';
    log.push({ ...record, isRequeue: dead !== undefined, fate: 'pending' });
    log.sort((a, b) => (a.position < b.position ? -1 : 1));
  }

  /** The pending records of a session up to the one at `last` are applied and committed. */
  commit(session: string, last: Position): void {
    for (const record of this.all(session, 'pending'))
      if (record.position <= last) this.#apply(record);
  }

  bury(session: string, at: Position): void {
    const found = this.all(session, 'pending').find(({ position }) => position === at);
    if (found !== undefined) found.fate = 'dead';
  }

  discard(session: string, position: Position): void {
    const found = this.log(session).find((record) => record.position === position);
    if (found?.fate === 'dead') found.fate = 'discarded';
  }

  totals(sessions: readonly string[] = this.sessions): Readonly<Record<string, number>> {
    const all = sessions.flatMap((session) => this.log(session));
    const count = (fate: Fate): number => all.filter((record) => record.fate === fate).length;
    return {
      accepted: all.filter(({ isRequeue }) => !isRequeue).length,
      applied: count('applied'),
      pending: count('pending'),
      dead: count('dead'),
      discarded: count('discarded'),
    };
  }

  #apply(record: ModelRecord): void {
    const { session, raw, position } = record;
    const parsed = parseLine(raw, labKey(session)).record;
    if (parsed === undefined) throw new TypeError('the model appends records alone');
    const context = { spillBytes: this.spillBytes };
    const { cursor, mutations } = fold(this.cursor(session), parsed, context);
    const step = { at: position, after: position, sha256: '', mutations, cursor };
    this.#cursors.set(session, cursor);
    this.#steps.set(session, [...this.steps(session), step]);
    record.fate = 'applied';
  }
}
