import { type Position, parsePosition } from '#record';
import type { Engine } from '../engine.ts';
import type { KeyState } from './key-state.ts';
import type { DeadLine, OutcomeLine } from '../journal/payloads.ts';

/** `<key>:<epoch>.<start>`: stable over restarts, and known before the letter is written. */
export function letterIdAt(state: Pick<KeyState, 'key' | 'epoch'>, offset: number): string {
  return `${state.key}:${state.epoch}.${offset}`;
}

export function isOutcome(line: DeadLine | OutcomeLine): line is OutcomeLine {
  return 'kind' in line;
}

/**
 * The outcome that a letter has by now. Letters that were read a moment ago may lack it: a frame that was in flight then is durable meanwhile,
 * and its flight has left no trace but this.
 */
export function outcomeSince(state: KeyState, id: string): OutcomeLine['kind'] | undefined {
  const line = state.newDead.find((one) => isOutcome(one) && one.id === id);
  return line !== undefined && isOutcome(line) ? line.kind : undefined;
}

/** A durable letter or outcome: it waits for the dead-letter file, and the index of ids follows it. */
export function takeLetter(engine: Engine, state: KeyState, line: DeadLine | OutcomeLine): void {
  state.newDead.push(line);
  if (!isOutcome(line) && line.epoch === state.epoch) state.letterStarts?.add(line.pos_start);
  engine.deadKeys.note(state.key, state.totals.dead);
  engine.letteredKeys.note(state.key);
  indexLetter(engine, state, line);
}

/**
 * What a sender of the same id again is told by (ING-515): a dead or discarded record frees it for the same content, and after a requeue the
 * id leads to the new record, also when that one came with another id (an edited payload).
 */
export function indexLetter(engine: Engine, state: KeyState, line: DeadLine | OutcomeLine): void {
  if (line.event_id === undefined) return;
  const entry = engine.indexer.find(state, line.event_id);
  const ordinal = line.ordinal ?? state.ordinal;
  if (entry === undefined || entry.ordinal !== ordinal || entry.offset !== line.pos_start) return;
  if (!isOutcome(line)) engine.indexer.add(state, line.event_id, { ...entry, status: 'dead' });
  else if (line.kind === 'discarded')
    engine.indexer.add(state, line.event_id, { ...entry, status: 'discarded' });
  else {
    const { ordinal, offset } = parsePosition(line.requeue_pos as Position) ?? entry;
    const length = line.requeue_len ?? entry.length;
    const { isDerivedId } = entry;
    const moved = { ordinal, offset, length, status: 'live', isDerivedId } as const;
    engine.indexer.add(state, line.event_id, moved);
  }
}
