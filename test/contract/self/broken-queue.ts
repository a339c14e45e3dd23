import type { AppendInput, AppendOutcome, Batch } from '#queue';
import type { Position } from '#record';
import type { Queue } from '../../support/queue-fixtures.ts';
import { bindQueue } from './bind-queue.ts';

/** A queue with one defect, and a check that must find it. */
export interface BrokenQueue {
  readonly defect: string;
  /** The beginning of the check's name. */
  readonly foundBy: string;
  /** Called for each opening, with what the earlier ones left here. */
  spoil(queue: Queue, memory: Map<string, unknown>): Partial<Queue>;
}

export function spoiled(queue: Queue, broken: BrokenQueue, memory: Map<string, unknown>): Queue {
  const sound = bindQueue(queue);
  return { ...sound, ...broken.spoil(sound, memory) };
}

export function withoutLast(batch: Batch): Batch {
  return { ...batch, items: batch.items.slice(0, -1) };
}

export function openings(memory: Map<string, unknown>): number {
  const count = ((memory.get('openings') as number | undefined) ?? 0) + 1;
  memory.set('openings', count);
  return count;
}

export function changeOutcomes(
  queue: Queue,
  change: (outcome: AppendOutcome, record: AppendInput | undefined) => AppendOutcome,
): Queue['append'] {
  return async (records, options) => {
    const outcomes = await queue.append(records, options);
    return outcomes.map((outcome, at) => change(outcome, records[at]));
  };
}

export function without(record: AppendInput, member: 'eventId' | 'settles'): AppendInput {
  return Object.fromEntries(
    Object.entries(record).filter(([name]) => name !== member),
  ) as unknown as AppendInput;
}

export const nowhere: Position = '00000000.00000000000000.e' as Position;
