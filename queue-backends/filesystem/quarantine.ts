import { join } from 'node:path';
import type { MillraceError } from '#base';
import { atomicReplace } from '#disk';
import { keyQuarantined } from '#signals';
import type { Engine } from './engine.ts';
import { frameKinds } from './frame.ts';
import { submitFrame } from './submit.ts';
import type { KeyState } from './key-state.ts';
import { encodeJson, type QuarantinePayload } from './payloads.ts';

/** Stops one key: durable frame, marker beside its files, all others go on (ING-408…410). Called again it changes nothing. */
export async function quarantineKey(
  engine: Engine,
  state: KeyState,
  fault: Pick<MillraceError, 'code' | 'message'>,
): Promise<void> {
  if (state.quarantine !== null) return;
  const since = new Date(engine.options.clock.now()).toISOString();
  state.quarantine = { code: fault.code, message: fault.message, since };
  engine.quarantined.add(state.key);
  engine.active.delete(state.key);
  keyQuarantined.publish(() => ({ key: state.key, code: fault.code, message: fault.message }));
  const payload: QuarantinePayload = { k: state.key, ...state.quarantine };
  await submitFrame(engine, frameKinds.quarantine, encodeJson(payload), (sequence) => {
    state.lastFrame = sequence;
  });
  await writeMarker(engine, state);
}

/** `quarantine.json` survives restarts and is evidence for an operator. */
async function writeMarker(engine: Engine, state: KeyState): Promise<void> {
  if (!state.hasFolder) return;
  const path = join(engine.files.folderOf(state.key), 'quarantine.json');
  const bytes = Buffer.from(`${JSON.stringify({ v: 1, ...state.quarantine }, null, 2)}\n`, 'utf8');
  await atomicReplace(engine.options.disk, path, bytes, engine.options.names);
}

/** The marker of a key that is being loaded; undefined when there is none. */
export async function readMarker(
  engine: Engine,
  key: KeyState['key'],
): Promise<KeyState['quarantine']> {
  const bytes = await engine.options.disk.readFile(
    join(engine.files.folderOf(key), 'quarantine.json'),
  );
  if (bytes === undefined) return null;
  const { code, message, since } = JSON.parse(Buffer.from(bytes).toString('utf8')) as Record<
    string,
    unknown
  >;
  return { code: String(code), message: String(message), since: String(since) };
}
