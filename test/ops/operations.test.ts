import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openControlDatabase, type ControlDatabase, type OperationBounds } from '#control';
import { createOperations, tokenUnknown, type Act, type Operations } from '#ops';
import { daemonNoticed } from '#signals';
import { seededChance } from '../support/chance.ts';
import { fakeClock, type FakeClock } from '../support/clock.ts';

let folder: string;
let clock: FakeClock;
let seed = 1;
const open: ControlDatabase[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-operations-'));
  clock = fakeClock();
});

afterEach(() => {
  for (const control of open.splice(0)) control.close();
  rmSync(folder, { recursive: true });
});

/** One process after the other on the same database. */
function start(bounds: Partial<OperationBounds> = {}): {
  operations: Operations;
  control: ControlDatabase;
} {
  for (const before of open.splice(0)) before.close();
  const path = join(folder, 'control.db');
  const control = openControlDatabase(path, { clock, operationBounds: bounds });
  open.push(control);
  seed += 1;
  const operations = createOperations({
    rows: control.operations,
    clock,
    chance: seededChance(seed),
  });
  return { operations, control };
}

interface Answer {
  readonly requeued: number;
}

let runs: string[] = [];

function act(more: Partial<Act<Answer>> = {}): Act<Answer> {
  return {
    verb: 'dead requeue',
    principal: 'alice',
    input: { id: 'w~a:e.1', session: undefined },
    key: 'key-1',
    signal: new AbortController().signal,
    countOf: ({ requeued }) => requeued,
    run(operationId) {
      runs.push(operationId);
      return Promise.resolve({ requeued: runs.length });
    },
    ...more,
  };
}

beforeEach(() => {
  runs = [];
});

describe('an act under a key (ING-014)', () => {
  it('is done once: the same request has the recorded answer, after a restart too', async () => {
    const first = await start().operations.run(act());
    expect(first).toMatchObject({ answer: { requeued: 1 }, isReplayed: false });
    const again = await start().operations.run(act({ input: { id: 'w~a:e.1' } }));
    expect(again).toEqual({ ...first, isReplayed: true });
    expect(runs).toEqual([first.operationId]);
  });

  it('refuses another request under the key', async () => {
    const { operations } = start();
    const { operationId } = await operations.run(act());
    await expect(operations.run(act({ input: { id: 'w~a:e.2' } }))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
      details: { operation_id: operationId },
    });
    expect(runs).toHaveLength(1);
  });

  it('belongs to its principal and its verb', async () => {
    const { operations } = start();
    await operations.run(act());
    await operations.run(act({ principal: 'bob', input: { id: 'other' } }));
    await operations.run(act({ verb: 'dead discard', input: { id: 'another' } }));
    expect(new Set(runs).size).toBe(3);
  });

  it('without a key runs each time', async () => {
    const { operations } = start();
    await operations.run(act({ key: undefined }));
    await operations.run(act({ key: undefined }));
    expect(new Set(runs).size).toBe(2);
  });

  it('waits for the first run, and is told to come back when that takes too long', async () => {
    const { operations } = start();
    const gate = Promise.withResolvers<Answer>();
    const slow = { run: () => gate.promise };
    const first = operations.run(act(slow));
    await expect(operations.run(act({ input: { id: 'other' } }))).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    });
    const impatient = operations.run(act());
    const refused = expect(impatient).rejects.toMatchObject({
      code: 'OPERATION_IN_FLIGHT',
      disposition: 'retry',
    });
    await clock.advance(5000);
    await refused;
    const gone = new AbortController();
    gone.abort(new Error('the caller has gone'));
    await expect(operations.run(act({ signal: gone.signal }))).rejects.toThrow('has gone');
    const second = operations.run(act());
    gate.resolve({ requeued: 7 });
    expect(await first).toMatchObject({ answer: { requeued: 7 }, isReplayed: false });
    expect(await second).toMatchObject({ answer: { requeued: 7 }, isReplayed: true });
    expect(runs).toEqual([]);
  });

  it('runs again as the same operation after a refusal', async () => {
    const { operations } = start();
    const fail = { run: () => Promise.reject(tokenUnknown({ name: 'x' })) };
    await expect(operations.run(act(fail))).rejects.toMatchObject({ code: 'TOKEN_UNKNOWN' });
    const { operationId, isReplayed } = await operations.run(act());
    expect(isReplayed).toBe(false);
    expect(operations.audit({ limit: 9 })).toMatchObject([
      { operationId, outcome: 'done', count: 1 },
      { operationId, outcome: 'TOKEN_UNKNOWN', count: null },
    ]);
  });

  it('runs again as the same operation after a crash in the middle (C25)', async () => {
    const never = new Promise<Answer>(() => undefined);
    const { operations: crashed } = start();
    void crashed.run(act({ run: () => never }));
    const begun = crashed.audit({ limit: 1 })[0];
    expect(begun).toMatchObject({ outcome: null, endedAt: null });
    const { operations } = start();
    expect(operations.audit({ limit: 1 })[0]).toMatchObject({ outcome: 'INTERRUPTED' });
    const { operationId } = await operations.run(act());
    expect(operationId).toBe(begun?.operationId);
    expect(runs).toEqual([operationId]);
  });

  it('may be used anew after 24 hours, not before', async () => {
    const { operations } = start();
    await operations.run(act());
    await clock.advance(24 * 3_600_000 - 1);
    expect(await operations.run(act())).toMatchObject({ isReplayed: true });
    await clock.advance(2);
    expect(await operations.run(act({ input: { id: 'new' } }))).toMatchObject({
      isReplayed: false,
    });
  });

  it('is refused when no more keys can be kept, and known ones still answer', async () => {
    for (const bounds of [{ keys: 2 }, { answerBytes: '{"requeued":1}'.length * 2 }]) {
      runs = [];
      const { operations } = start(bounds);
      const named = Object.keys(bounds)[0] ?? '';
      await clock.advance(25 * 3_600_000);
      await operations.run(act({ key: `${named}-1` }));
      await operations.run(act({ key: `${named}-2` }));
      await expect(operations.run(act({ key: `${named}-3` }))).rejects.toMatchObject({
        code: 'OPERATIONS_FULL',
        disposition: 'retry',
      });
      expect(await operations.run(act({ key: `${named}-1` }))).toMatchObject({ isReplayed: true });
      expect(await operations.run(act({ key: undefined }))).toMatchObject({ isReplayed: false });
      await clock.advance(24 * 3_600_000 + 1);
      await operations.run(act({ key: `${named}-3` }));
    }
  });

  it('keeps an answer with a secret for ten minutes, and never on disk (ING-018)', async () => {
    const { operations, control } = start();
    const secret = act({
      isAnswerSecret: true,
      run: () => Promise.resolve({ requeued: 1, token: 'canary-secret' }),
    });
    const first = await operations.run(secret);
    expect(await operations.run(secret)).toEqual({ ...first, isReplayed: true });
    await clock.advance(10 * 60_000);
    const gone = { code: 'ANSWER_NOT_KEPT', details: { operation_id: first.operationId } };
    await expect(operations.run(secret)).rejects.toMatchObject(gone);
    for (const ending of ['', '-wal'])
      expect(readFileSync(control.path + ending).includes('canary-secret')).toBe(false);
  });
});

describe('the audit (ING-716, ING-916)', () => {
  it('has a row before the act begins, and its end after it, newest first in pages', async () => {
    const { operations } = start();
    let during: unknown;
    await operations.run(
      act({
        run() {
          during = operations.audit({ limit: 1 })[0];
          return Promise.resolve({ requeued: 4 });
        },
      }),
    );
    expect(during).toMatchObject({ verb: 'dead requeue', principal: 'alice', outcome: null });
    await expect(
      operations.run(act({ key: undefined, run: () => Promise.reject(new TypeError('oh')) })),
    ).rejects.toThrow('oh');
    const [newest] = operations.audit({ limit: 1 });
    expect(newest).toMatchObject({ outcome: 'BUG', beganAt: new Date(clock.now()).toISOString() });
    const rest = operations.audit({ limit: 9, before: newest?.run ?? 0 });
    expect(rest).toMatchObject([{ outcome: 'done', count: 4, input: '{"id":"w~a:e.1"}' }]);
  });

  it('keeps payloads and long texts as digests', async () => {
    const { operations } = start();
    const input = { id: 'x', payload: 'canary-payload', note: 'n'.repeat(3000), reason: 'why' };
    await operations.run(act({ input, hiddenInput: ['payload'] }));
    const kept: unknown = JSON.parse(operations.audit({ limit: 1 })[0]?.input ?? '');
    const digest = { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string };
    expect(kept).toEqual({
      id: 'x',
      payload: { ...digest, bytes: 16 },
      note: { ...digest, bytes: 3002 },
      reason: 'why',
    });
  });

  it('is bounded: the oldest rows go first', async () => {
    const { operations } = start({ runs: 3 });
    for (let count = 0; count < 5; count += 1) await operations.run(act({ key: undefined }));
    expect(operations.audit({ limit: 9 }).map(({ count }) => count)).toEqual([5, 4, 3]);
  });

  it('refuses the act when it cannot be written down, and tells of an end that cannot', async () => {
    const { operations, control } = start();
    const told: string[] = [];
    const end = daemonNoticed.subscribe(({ code }) => told.push(code));
    const done = await operations.run(
      act({
        run() {
          control.close();
          return Promise.resolve({ requeued: 1 });
        },
      }),
    );
    end();
    open.pop();
    expect(done).toMatchObject({ answer: { requeued: 1 } });
    expect(told).toEqual(['AUDIT_INCOMPLETE']);
    await expect(operations.run(act())).rejects.toThrow();
    expect(runs).toEqual([]);
  });
});
