import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Disposition } from '#base';
import { fold, type Folded } from '#handlers';
import type { BatchItem } from '#queue';
import { emptyCursor, type Cursor, type LogRecord, type Position } from '#record';
import { afterFailure } from '../../src/drain/worker/after-failure.ts';
import { ByteBudget } from '../../src/drain/byte-budget.ts';
import { planBatch, type BatchPlan, type Fold } from '../../src/drain/fold/plan-batch.ts';
import { planChunks, planHalves } from '../../src/drain/fold/plan-chunks.ts';
import { testKey } from '../support/queue-fixtures.ts';
import { contradiction, note, notes } from './drain-fixture.ts';

function position(at: number): Position {
  return `00000000.${at.toString(16).padStart(14, '0')}.e` as Position;
}

function itemsOf(raws: readonly Uint8Array[]): readonly BatchItem[] {
  return raws.map((raw, at) => ({ raw, at: position(at), after: position(at + 1) }));
}

function plan(
  raws: readonly Uint8Array[],
  options: Partial<Parameters<typeof planBatch>[0]> = {},
): BatchPlan {
  return planBatch({
    key: testKey('a'),
    cursor: emptyCursor(),
    items: itemsOf(raws),
    appliedThrough: null,
    spillBytes: 32_768,
    fold,
    ...options,
  });
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) freeze(member);
    Object.freeze(value);
  }
  return value;
}

const raws = (count: number): readonly Uint8Array[] => notes('a', count).map(({ raw }) => raw);

describe('what to do after a failure', () => {
  it('answers every disposition, and only poison uses a budget (ING-511, ING-536)', () => {
    const answers: Record<Disposition, string> = {
      retry: 'try-again',
      poison: 'isolate',
      corrupt: 'stop-key',
      fenced: 'stop-all',
      fatal: 'stop-all',
      reject: 'try-again',
    };
    for (const disposition of Object.keys(answers) as Disposition[])
      expect(afterFailure(disposition)).toBe(answers[disposition]);
  });
});

describe('a batch plan', () => {
  it('changes nothing of its input and comes out equal each time: a frozen baseline serves every attempt (ING-503, ING-504, ING-P05, T08)', () => {
    const start = plan(raws(5), { cursor: freeze(emptyCursor()) });
    const baseline = freeze(start.steps.at(-1)?.cursor ?? emptyCursor());
    const before = JSON.stringify(baseline);
    const attempts = [1, 2, 3].map(() => plan(raws(7), { cursor: baseline }));
    expect(attempts[1]).toEqual(attempts[0]);
    expect(attempts[2]).toEqual(attempts[0]);
    expect(JSON.stringify(baseline)).toBe(before);
  });

  it('would show a fold that changes a nested map of its cursor in place (T00 of T08)', () => {
    const careless: Fold = (cursor: Cursor, record: LogRecord, context): Folded => {
      const folded = fold(cursor, record, context);
      (cursor.layer2.block_seq as Record<string, unknown>)['x'] = [1, 1];
      return folded;
    };
    const frozen = plan(raws(2), { cursor: freeze(emptyCursor()), fold: careless });
    expect(frozen.end?.error.code).toBe('HANDLER_FAILED');
  });

  it('folds a session again as a session: nothing remembers that it was issued but the cursor (ING-507, T09)', () => {
    const whole = plan(raws(3));
    const again = plan(raws(1));
    expect(again.steps[0]?.mutations).toEqual(whole.steps[0]?.mutations);
    expect(JSON.stringify(again.steps[0]?.mutations)).toContain('"Session"');
  });

  it('ends at the first record that cannot be folded, with the cursor before it', () => {
    const records = [...notes('a', 2), contradiction('a', 2), note('a', 3)].map(({ raw }) => raw);
    const { steps, end } = plan(records);
    expect(steps).toHaveLength(2);
    expect(end).toMatchObject({ kind: 'poison', isDefect: false });
    expect(end?.before).toBe(steps[1]?.cursor);
  });

  it('takes a line that is none for damage, never for poison (D31)', () => {
    const newer = Buffer.from(notes('a', 1)[0]?.raw.toString().replace('"v":1', '"v":2') ?? '');
    for (const raw of [Buffer.from('{"v":1'), newer]) {
      const { end } = plan([raw]);
      expect(end).toMatchObject({ kind: 'corrupt', error: { disposition: 'corrupt' } });
    }
  });

  it('refuses mutations beyond the limit of a record before they reach a store (D28)', () => {
    const many: Fold = (cursor) => ({
      cursor,
      mutations: Array.from({ length: 10_001 }, (_, at) => ({
        kind: 'stub',
        owner: 'a',
        id: String(at),
        labels: ['Event'],
      })),
      values: [],
    });
    expect(plan(raws(1), { fold: many }).end?.error.code).toBe('MUTATION_REFUSED');
  });

  it('folds records at or below the row for their cursor alone (ING-539)', () => {
    const whole = plan(raws(5));
    const behind = plan(raws(5), { appliedThrough: position(3) });
    expect(behind.resent).toMatchObject({ count: 3, after: position(3) });
    expect(behind.steps).toEqual(whole.steps.slice(3));
  });

  it('comes out the same whether it is made of one batch or of any cuts of it (P12)', () => {
    const all = raws(12);
    const whole = plan(all).steps;
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 11 }), { maxLength: 4 }), (cuts) => {
        const borders = [0, ...[...new Set(cuts)].toSorted((a, b) => a - b), 12];
        let cursor = emptyCursor();
        const steps = borders.slice(1).flatMap((end, at) => {
          const items = itemsOf(all).slice(borders[at], end);
          const part = plan([], { items, cursor }).steps;
          cursor = part.at(-1)?.cursor ?? cursor;
          return part;
        });
        expect(steps).toEqual(whole);
      }),
    );
  });
});

describe('cuts', () => {
  it('keep order, lose nothing and stay within their limits, but for a step that is too large alone (ING-532, ING-854)', () => {
    const steps = plan(raws(20)).steps.map((step, at) => ({ ...step, bytes: 10 + (at % 5) * 30 }));
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 25 }),
        fc.integer({ min: 1, max: 500 }),
        (records, bytes) => {
          const chunks = planChunks(steps, { records, bytes });
          expect(chunks.flat()).toEqual(steps);
          for (const chunk of chunks) {
            expect(chunk.length).toBeLessThanOrEqual(records);
            const sum = chunk.reduce((total, step) => total + step.bytes, 0);
            if (chunk.length > 1) expect(sum).toBeLessThanOrEqual(bytes);
          }
        },
      ),
    );
  });

  it('halve what was refused, first half first, down to one (ING-537)', () => {
    expect(planHalves([1, 2, 3, 4, 5])).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect(planHalves([1, 2])).toEqual([[1], [2]]);
  });
});

describe('the budget of bytes', () => {
  it('grants in order, never above its limit but to one alone, and lets all through when opened', async () => {
    const budget = new ByteBudget(100);
    const granted: string[] = [];
    const take = (name: string, bytes: number): Promise<void> =>
      budget.take(bytes).then(() => {
        granted.push(name);
      });
    await take('huge', 1000);
    const waiting = [take('a', 60), take('b', 60), take('c', 10)];
    budget.give(1000);
    await Promise.resolve();
    expect(granted).toEqual(['huge', 'a']);
    budget.give(60);
    await Promise.all(waiting);
    expect(granted).toEqual(['huge', 'a', 'b', 'c']);
    const last = take('d', 90);
    expect(budget.heldBytes).toBe(70);
    budget.open();
    await last;
    expect(granted.at(-1)).toBe('d');
  });
});
