import type { AppliedMark, ResetOrder } from '#queue';
import { type Cursor, emptyCursor } from '#record';
import type { Engine } from '../engine.ts';
import { frameKinds } from '../journal/frame.ts';
import type { PositionMode } from '../journal/payloads.ts';
import { type Fault, quarantineKey } from '../quarantine.ts';
import { loadDead } from '../session/dead-ahead.ts';
import type { KeyState } from '../session/key-state.ts';
import { booksAfter } from './books.ts';
import { deadStarts, isFirstGeneration, type Standing, survey } from './examine.ts';
import { payloadBase, setPosition } from './set-position.ts';

/**
 * The cursor with which a log is drained again from its beginning, if all of it can be (ING-822): the generation file says what it begins with, and
 * no line of it is damaged. Where the log begins at the committed position, the committed cursor is the one of that place (O12).
 */
export async function planReset(
  engine: Engine,
  state: KeyState,
): Promise<{ readonly cursor: Cursor } | { readonly refusal: string }> {
  const generation = await engine.files.readGeneration(state.key, state.gen);
  if (generation === undefined && !isFirstGeneration(state))
    return { refusal: 'its generation file is missing or damaged, so its cursor there is unknown' };
  const { damage } = await survey(engine, state, new Set(), state.base, state.end);
  const [first] = damage;
  if (first !== undefined) return { refusal: `its log is damaged at ${first.from}…${first.to}` };
  const isThere = state.hasSoundRecord && state.committed === state.base;
  const cursor = isThere ? state.cursor : generation?.cursor;
  return { cursor: cursor ?? emptyCursor() };
}

/** Where a key is set back to: the cursor of its log's beginning, and the last record that the graph is relied on to hold. */
export interface SetBack {
  readonly cursor: Cursor;
  readonly applied: AppliedMark | null;
}

/** Writes the RESET. The replaced record stays beside the new one. */
export async function setBack(
  engine: Engine,
  state: KeyState,
  { cursor, applied }: SetBack,
  order: ResetOrder,
  mode: PositionMode,
): Promise<void> {
  await loadDead(engine, state);
  await engine.records.keepReplaced(engine.files.folderOf(state.key));
  const at: Standing = {
    offset: state.base,
    cursor,
    applied,
    seq: state.seq,
    isOfBooks: false,
  };
  const dead = await deadStarts(engine, state);
  const move = { at, after: at.offset, letters: [] };
  await setPosition(engine, state, frameKinds.reset, {
    ...payloadBase(engine, state, order, mode),
    after: state.base,
    seq: state.seq + 1,
    cursor,
    applied,
    end: state.end,
    ...(await booksAfter(engine, state, dead, move)),
  });
}

/** Codes whose position alone is damaged. One that a newer program wrote is none of them: it is never read as 0 (ING-217). */
const positionFaults: ReadonlySet<string> = new Set([
  'OFFSET_CORRUPT',
  'OFFSET_BEYOND_LOG',
  'OFFSET_MISALIGNED',
]);

/**
 * What damage does to a key: it is stopped. Only where an operator has allowed it (`boot.auto_reset_max_bytes`), a damaged position whose log can
 * be drained again as a whole is set back instead (ING-822).
 */
export async function stopKey(engine: Engine, state: KeyState, fault: Fault): Promise<void> {
  if (state.quarantine !== null) return;
  const cursor = await resetCursor(engine, state, fault.code);
  if (cursor === undefined) return quarantineKey(engine, state, fault);
  const operationId = engine.options.chance.uuid();
  const by = `millrace: ${fault.code}`;
  const { applied } = state;
  await setBack(engine, state, { cursor, applied }, { by, operationId }, 'auto');
}

async function resetCursor(
  engine: Engine,
  state: KeyState,
  code: string,
): Promise<Cursor | undefined> {
  if (!mayResetAlone(engine, state, code)) return undefined;
  const plan = await planReset(engine, state);
  return 'refusal' in plan ? undefined : plan.cursor;
}

/** Whether a key with this damage is one that is set back by itself, if its log is whole. */
export function mayResetAlone(engine: Engine, state: KeyState, code: string): boolean {
  const bytesMax = engine.options.limits.autoResetBytesMax ?? 0;
  return positionFaults.has(code) && state.end - state.base <= bytesMax && bytesMax > 0;
}
