import type { KeyGuard, QuarantineView } from '#queue';
import type { Key } from '#record';
import type { Engine } from '../engine.ts';
import { readLetterLines } from '../session/dead-file.ts';
import { backlogBytes, pendingRecords, positionOf } from '../session/key-state.ts';
import { loadState } from '../session/load-key.ts';
import { asRetry } from '../with-state.ts';
import { waysOf } from './clear-quarantine.ts';
import { examine } from './examine.ts';
import { preservedFiles } from './preserved.ts';

/** What an operator must see of a stopped key: the damage, what is kept of it, and which ways out apply. Changes nothing. */
export function showQuarantine(engine: Engine, key: Key): Promise<QuarantineView | undefined> {
  return engine.locks.with(
    key,
    (guard) => asRetry(key, () => showUnder(engine, guard)),
    undefined,
    'show quarantine',
  );
}

async function showUnder(engine: Engine, guard: KeyGuard): Promise<QuarantineView | undefined> {
  const { key } = guard;
  const state = await loadState(engine, guard);
  if (state === undefined || state.quarantine === null) return undefined;
  await readLetterLines(engine, state);
  const found = await examine(engine, state);
  const files = await preservedFiles(engine, state);
  const { code, message, since } = state.quarantine;
  const { damage, damageCount } = found.ahead;
  return {
    key,
    workspace: state.workspace,
    session: state.session,
    code,
    message,
    since,
    folder: engine.files.folderOf(key),
    committed: positionOf(state, found.fallback.offset),
    end: positionOf(state, state.end),
    pending: pendingRecords(state),
    backlogBytes: backlogBytes(state),
    recordFault: found.recordFault,
    damage,
    damageCount,
    unparsedLetters: state.unparsedLetters,
    preserved: files.map(({ name, bytes }) => ({ name, bytes })),
    ways: await waysOf(engine, state, found),
  };
}
