import { isMillraceError } from '#base';
import { platformCode } from '#disk';
import { compactionRefused, deadLetterState, type AppendInput, type AppendOutcome } from '#queue';
import type { Position } from '#record';
import { demand, demandEqual } from '../demand.ts';
import { labKey, labWorkspace } from '../records.ts';
import { inputOf, numberOf, refusal } from './events.ts';
import type { Observed } from './observe.ts';
import type { ModelRecord, Reference } from './reference.ts';
import { currentCursor, foldItem, type SlowWorker } from './slow-worker.ts';
import type { Life } from './world.ts';

/** Something that is asked of the queue: how, what the model makes of success, and how to tell after a crash whether it took place. */
export interface Act {
  /** Resolves with the effect on the model, undefined where nothing has become durable; rejects when it was refused. */
  go(life: Life): Promise<(() => void) | undefined>;
  /** Records that are to be appended. */
  readonly inputs?: readonly AppendInput[];
  /** Of a life that ended meanwhile: the effect, if what is found says that it took place. */
  found(observed: Observed): (() => void) | undefined;
}

export const unseen: Act['found'] = () => undefined;

export function append(
  reference: Reference,
  inputs: readonly AppendInput[],
  isAlone: boolean,
): Act {
  const store = (input: AppendInput, position: Position): void =>
    reference.append({
      n: numberOf(input.raw),
      session: input.session,
      eventId: input.eventId,
      raw: input.raw,
      position,
    });
  return {
    inputs,
    async go({ queue }) {
      const expected = isAlone ? inputs.map((input) => expectedStatus(reference, input)) : [];
      const outcomes = await queue.append(inputs);
      if (isAlone)
        demandEqual(
          outcomes.map(({ status }) => status),
          expected,
          'a known event is a duplicate, and no other is',
        );
      checkOrder(inputs, outcomes);
      if (outcomes.every(({ status }) => status !== 'queued')) return undefined;
      return () => {
        for (const [index, outcome] of outcomes.entries()) {
          const input = inputs[index];
          if (input !== undefined && outcome.status === 'queued') store(input, outcome.position);
        }
      };
    },
    found(observed) {
      const places = inputs.map((input) => observed.unknownPosition(input));
      const stored = places.filter((place) => place !== undefined);
      const expected = inputs.filter((input) => expectedStatus(reference, input) === 'queued');
      demand(
        stored.length === 0 || stored.length === expected.length,
        'a request is kept as a whole or not at all',
        `${stored.length} of ${expected.length} records`,
      );
      if (stored.length === 0) return undefined;
      return () => {
        for (const [index, place] of places.entries()) {
          const input = inputs[index];
          if (input !== undefined && place !== undefined) store(input, place);
        }
      };
    },
  };
}

/** Records of one request and key stand in the order in which they were sent (ING-113). */
function checkOrder(inputs: readonly AppendInput[], outcomes: readonly AppendOutcome[]): void {
  const last = new Map<string, Position>();
  for (const [index, outcome] of outcomes.entries()) {
    const session = inputs[index]?.session ?? '';
    if (outcome.status !== 'queued') continue;
    const before = last.get(session);
    demand(
      before === undefined || before < outcome.position,
      'records of a request stand in its order',
      outcome.position,
    );
    last.set(session, outcome.position);
  }
}

function expectedStatus(reference: Reference, input: AppendInput): 'queued' | 'duplicate' {
  if (input.eventId === undefined) return 'queued';
  const last = reference.log(input.session).findLast(({ eventId }) => eventId === input.eventId);
  return last?.fate === 'pending' || last?.fate === 'applied' ? 'duplicate' : 'queued';
}

/** Hands what the workers hold to the graph in one group; `trouble` is what the store answers. */
export function apply(
  workers: readonly SlowWorker[],
  trouble: 'none' | 'away' | 'answer-lost',
): Act {
  return {
    found: unseen,
    async go({ graph, permit }) {
      const group = workers
        .filter(({ held }) => held.length > 0)
        .map(({ session, held }) => ({
          key: labKey(session),
          workspace: labWorkspace,
          session,
          steps: held.map(({ step }) => step),
        }));
      const refused = workers.find(({ held }) => held.some(({ isRefused }) => isRefused));
      if (trouble === 'away') graph.setUnavailable(true);
      else if (refused !== undefined) graph.failNext(refusal(refused.session));
      try {
        await graph.apply(permit, group);
      } catch (error) {
        if (!isMillraceError(error) || error.disposition === 'fenced') throw error;
        // Refused records leave the hand, with what lies behind them; they are buried when they come first.
        for (const worker of workers) {
          const upTo = worker.held.findIndex(({ isRefused }) => isRefused);
          if (error.disposition === 'poison' && upTo >= 0) worker.held = worker.held.slice(0, upTo);
        }
        return undefined;
      } finally {
        graph.setUnavailable(false);
      }
      if (trouble === 'none')
        for (const worker of workers) worker.appliedCount = worker.held.length;
      return undefined;
    },
  };
}

/** Offset and cursor behind what the graph holds. */
export function commit(reference: Reference, worker: SlowWorker): Act {
  const { session, held, appliedCount } = worker;
  const last = held[appliedCount - 1];
  const effect = (): void => {
    if (last !== undefined) reference.commit(session, last.item.at);
  };
  return {
    async go({ queue }) {
      if (last === undefined) return undefined;
      const { after, sha256, cursor } = last.step;
      await queue.commit(labKey(session), after, cursor, { position: after, sha256 });
      worker.drop();
      return effect;
    },
    found: (observed) =>
      last !== undefined && observed.isPassed(session, last.item.at) ? effect : undefined,
  };
}

/** The next record becomes a dead letter, if nothing is in hand and it cannot be applied. */
export function bury(reference: Reference, worker: SlowWorker): Act {
  const { session } = worker;
  let at: Position | undefined;
  const effect = (): void => {
    if (at !== undefined) reference.bury(session, at);
  };
  return {
    async go({ queue, graph }) {
      if (worker.held.length > 0) return undefined;
      const key = labKey(session);
      const { items } = await queue.readBatch(key, { records: 1, bytes: 1 });
      const [item] = items;
      const before = await currentCursor(queue, session);
      if (item === undefined) return undefined;
      const folded = foldItem(before, item, session, graph.spillBytes);
      if (folded !== undefined && !folded.isRefused) return undefined;
      ({ at } = item);
      const error = { code: 'MUTATION_REFUSED', message: 'it cannot be applied' };
      const letter = { at: item.at, raw: item.raw, attempts: 3, error };
      await queue.deadLetter(key, [letter], item.after, before);
      return effect;
    },
    found: (observed) => (at !== undefined && observed.isPassed(session, at) ? effect : undefined),
  };
}

/** What an operator does with a dead letter, by the acts that operators have. */
export function settleLetter(
  reference: Reference,
  { session, position, n, eventId, raw }: ModelRecord,
  way: 'requeue' | 'discard',
): Act {
  let id: string | undefined;
  const store = (at: Position): void =>
    reference.append({ n, session, eventId, raw, position: at }, position);
  return {
    async go({ queue, letters }) {
      const found = (await queue.readDeadLetters(labKey(session))).find(
        ({ at }) => at === position,
      );
      demand(found !== undefined, 'a dead letter is listed until it is discarded by name', n);
      ({ id } = found);
      try {
        if (way === 'discard') {
          await letters.discard({ id }, { principal: 'operator' }, { isDryRun: false });
          return () => reference.discard(session, position);
        }
        const { status, position: at } = await letters.requeue(id, { intoCurrent: true });
        return status === 'queued' ? () => store(at as Position) : undefined;
      } catch (error) {
        // Another act of the same step has settled it.
        if (deadLetterState.is(error)) return undefined;
        throw error;
      }
    },
    found(observed) {
      // Another act that was open has settled it, and its effect is counted.
      const isDead = reference.all(session, 'dead').some((one) => one.position === position);
      if (!isDead) return undefined;
      const kind = observed.outcome(session, position);
      if (way === 'discard')
        return kind === 'discarded' ? () => reference.discard(session, position) : undefined;
      const at = observed.unknownPosition({ session, raw });
      demand(
        (kind === 'requeued') === (at !== undefined),
        'a requeue is a record and an outcome, or neither',
        { kind, at },
      );
      return at === undefined ? undefined : () => store(at);
    },
  };
}

/** Passes dead records that stand before the committed position's next: our own commits leave none (C11), so it finds nothing to do. */
export function reconcile(session: string): Act {
  return {
    found: unseen,
    async go({ queue }) {
      const passed = await queue.reconcileDead(labKey(session));
      demandEqual(passed, 0, 'a dead letter and its commit are one step');
      return undefined;
    },
  };
}

/** Carries the journal into the session files; one that fails leaves the frames where they are. */
export const checkpoint: Act = {
  found: unseen,
  async go({ queue }) {
    try {
      await queue.checkpoint();
    } catch (error) {
      if (platformCode(error) === undefined && !isRetry(error)) throw error;
    }
    return undefined;
  },
};

/** Takes the committed part of a log away: positions, cursors and letters stay, and so the model does not see it (ING-810, ING-P08). */
export function compact(session: string): Act {
  return {
    found: unseen,
    async go({ queue }) {
      try {
        await queue.lifeCycle.compactCommittedPrefix(labKey(session), 1);
      } catch (error) {
        if (!compactionRefused.is(error)) throw error;
      }
      return undefined;
    },
  };
}

/** Ends the epoch of a session where all of it is drained; cursor, books, letters and ids outlive it, and so the model does not see it (ING-802, D27). */
export function finalise(session: string): Act {
  return {
    found: unseen,
    async go({ queue }) {
      await queue.lifeCycle.finalize(labKey(session));
      return undefined;
    },
  };
}

export function tick(ms: number): Act {
  return {
    found: unseen,
    async go({ clock }) {
      await clock.advance(ms);
      return undefined;
    },
  };
}

export function isRetry(error: unknown): boolean {
  return isMillraceError(error) && error.disposition === 'retry';
}

export function newInputs(
  count: number,
  sessionOf: (at: number) => string,
  nextNumber: () => number,
  choice: number,
): readonly AppendInput[] {
  return Array.from({ length: count }, (_, at) =>
    inputOf({ n: nextNumber(), session: sessionOf(at), choice: choice + at * 7 }),
  );
}
