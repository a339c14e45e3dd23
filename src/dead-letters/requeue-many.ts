import { assert, type MillraceError } from '#base';
import { deadLetterState, type AppendInput, type AppendOutcome, type QueueBackend } from '#queue';
import type { Key } from '#record';
import type { Letter, LetterOutcome, RequeueOptions, RequeueResult } from './dead-letters.ts';
import { deadLetterRange, deadLetterUnknown } from './errors.ts';
import type { LetterSource } from './letter-source.ts';
import { planRequeue, refusalOf } from './plan-requeue.ts';

/** Bytes of one append of requeued records. */
const appendBytesMax = 4 * 1024 * 1024;

interface Ready {
  readonly letter: Letter;
  readonly input: AppendInput;
}

/** One record, and the outcome of its letter with it: one durable step (ING-714). */
export async function appendRequeue(
  queue: Pick<QueueBackend, 'append'>,
  letter: Letter,
  input: AppendInput | undefined,
): Promise<RequeueResult> {
  const { id, key } = letter;
  if (input === undefined) throw deadLetterRange({ id, records: letter.records ?? 1 });
  const [result] = await queue.append([input]);
  assert(isStored(result), `a requeue is stored or a duplicate, not ${result?.status}`);
  const { status, epoch, position } = result;
  return { id, key, status, epoch, position };
}

/** Letters of one key in order, many in one append; each one that somebody has settled meanwhile is told as such. */
export async function requeueMany(
  queue: Pick<QueueBackend, 'append'>,
  source: LetterSource,
  order: { readonly key: Key; readonly ids: readonly string[]; readonly options: RequeueOptions },
): Promise<readonly LetterOutcome[]> {
  const { key, ids, options } = order;
  const known = await source.ofKey(key);
  const byId = new Map(known?.letters.map((letter) => [letter.id, letter]));
  const outcomes = new Map<string, LetterOutcome>();
  const ready: Ready[] = [];
  for (const id of new Set(ids)) {
    const letter = byId.get(id);
    if (letter === undefined) {
      outcomes.set(id, refused(id, deadLetterUnknown({ id })));
      continue;
    }
    const refusal = refusalOf(letter, known?.status, options);
    const input = refusal === undefined ? planRequeue(letter) : undefined;
    if (input !== undefined) ready.push({ letter, input });
    else outcomes.set(id, notRequeued(letter, refusal));
  }
  for (const part of partsOf(ready))
    for (const outcome of await appendPart(queue, part)) outcomes.set(outcome.id, outcome);
  return ids.map((id) => {
    const outcome = outcomes.get(id);
    assert(outcome !== undefined, `letter ${id} has a result`);
    return outcome;
  });
}

function notRequeued(letter: Letter, refusal: MillraceError | undefined): LetterOutcome {
  const { id, outcome } = letter;
  if (outcome.kind === 'live')
    return refused(id, refusal ?? deadLetterRange({ id, records: letter.records ?? 1 }));
  return settledBefore(letter);
}

/** It went through already: nothing is appended a second time (ING-714). */
export function settledBefore({ id, outcome }: Letter): LetterOutcome {
  assert(outcome.kind !== 'live', `letter ${id} has an outcome`);
  const { kind, ts } = outcome;
  const message = `it was ${kind} before`;
  const before = { kind, ts };
  const base = { id, result: 'already', code: deadLetterState.code, message, before } as const;
  return outcome.kind === 'requeued' ? { ...base, position: outcome.position } : base;
}

export function refused(id: string, { code, message }: MillraceError): LetterOutcome {
  return { id, result: 'refused', code, message };
}

function* partsOf(ready: readonly Ready[]): Generator<readonly Ready[]> {
  let part: Ready[] = [];
  let bytes = 0;
  for (const one of ready) {
    const size = one.input.raw.byteLength;
    if (part.length > 0 && bytes + size > appendBytesMax) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(one);
    bytes += size;
  }
  if (part.length > 0) yield part;
}

async function appendPart(
  queue: Pick<QueueBackend, 'append'>,
  part: readonly Ready[],
): Promise<readonly LetterOutcome[]> {
  try {
    const stored = await queue.append(part.map(({ input }) => input));
    return part.map(({ letter: { id } }, at) => requeued(id, stored[at]));
  } catch (error) {
    if (!deadLetterState.is(error)) throw error;
    // Somebody has settled one of them a moment ago, and the whole append was refused for it.
    const outcomes: LetterOutcome[] = [];
    for (const { letter, input } of part) outcomes.push(await appendAlone(queue, letter, input));
    return outcomes;
  }
}

async function appendAlone(
  queue: Pick<QueueBackend, 'append'>,
  { id }: Letter,
  input: AppendInput,
): Promise<LetterOutcome> {
  try {
    const [stored] = await queue.append([input]);
    return requeued(id, stored);
  } catch (error) {
    if (!deadLetterState.is(error)) throw error;
    return { id, result: 'already', code: error.code, message: error.message };
  }
}

function requeued(id: string, stored: AppendOutcome | undefined): LetterOutcome {
  assert(isStored(stored), `a requeue is stored or a duplicate, not ${stored?.status}`);
  const { status, epoch, position } = stored;
  return { id, result: 'requeued', position, stored: { status, epoch, position } };
}

function isStored(
  outcome: AppendOutcome | undefined,
): outcome is Extract<AppendOutcome, { status: 'queued' | 'duplicate' }> {
  return outcome?.status === 'queued' || outcome?.status === 'duplicate';
}
