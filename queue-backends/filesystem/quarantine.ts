import { join } from 'node:path';
import { type MillraceError, isMillraceError } from '#base';
import { atomicReplace, failpoint } from '#disk';
import { logGenerationMissing } from '#queue';
import { keyQuarantined } from '#signals';
import { type Engine, noteBacklog } from './engine.ts';
import { keepCopy } from './evidence.ts';
import { frameKinds } from './journal/frame.ts';
import { type KeyState, type Quarantine, dirty } from './session/key-state.ts';
import { encodeJson, type QuarantinePayload } from './journal/payloads.ts';
import { submitFrame } from './journal/submit.ts';

export type Fault = Pick<MillraceError, 'code' | 'message'>;

/** Codes whose damaged file is the log; of the others the offset record is. */
const logFaults: ReadonlySet<string> = new Set([
  'RECORD_CORRUPT',
  'OFFSET_BEYOND_LOG',
  'OFFSET_MISALIGNED',
]);

export const markerName = 'quarantine.json';

/**
 * Stops one key; all others go on (ING-408…410). It holds from this step on; frame, marker and copy of the damaged file follow, and what a
 * full or failing disk refuses of them is made good by the next checkpoint or the next reader that finds the same damage.
 */
export async function quarantineKey(engine: Engine, state: KeyState, fault: Fault): Promise<void> {
  if (state.quarantine !== null) return;
  const since = new Date(engine.options.clock.now()).toISOString();
  const quarantine: Quarantine = { code: fault.code, message: fault.message, since };
  setQuarantine(engine, state, quarantine);
  keyQuarantined.publish(() => ({ key: state.key, code: fault.code, message: fault.message }));
  const payload: QuarantinePayload = { k: state.key, ...quarantine };
  try {
    await submitFrame(engine, frameKinds.quarantine, encodeJson(payload), () => {
      dirty(state);
    });
    await keepDamaged(engine, state, fault);
    await writeMarker(engine, state);
  } catch (error) {
    if (isMillraceError(error) && error.disposition !== 'retry') throw error;
    dirty(state);
  }
}

/** In memory alone: what recovery and a loaded marker say. */
export function setQuarantine(engine: Engine, state: KeyState, quarantine: Quarantine): void {
  state.quarantine = quarantine;
  engine.quarantined.add(state.key);
  noteBacklog(engine, state, state.end - state.committed);
}

/** The offending file, copied and not moved (ING-409). */
async function keepDamaged(engine: Engine, state: KeyState, fault: Fault): Promise<void> {
  const { options, files, records } = engine;
  const reason = `${fault.code} of ${state.key}: ${fault.message}`;
  if (fault.code === logGenerationMissing.code)
    await keepCopy(options, files.generationPath(state.key, state.gen), 'corrupt', reason);
  if (logFaults.has(fault.code)) {
    await keepCopy(options, files.logPath(state.key, state.gen), 'corrupt', reason);
    return;
  }
  await records.preserve(files.folderOf(state.key), reason);
}

/** `quarantine.json` survives restarts and is what an operator sees. */
export async function writeMarker(engine: Engine, state: KeyState): Promise<void> {
  if (!state.hasFolder || state.quarantine === null) return;
  state.hasMarker = true;
  const path = join(engine.files.folderOf(state.key), markerName);
  const bytes = Buffer.from(`${JSON.stringify({ v: 1, ...state.quarantine }, null, 2)}\n`, 'utf8');
  await atomicReplace(engine.options.disk, path, bytes, engine.options.names);
}

/** The key is cleared: its frame is durable, and the marker must not outlive the mark that passes it (C25). */
export async function removeMarker(engine: Engine, state: KeyState): Promise<void> {
  const { disk } = engine.options;
  const folder = engine.files.folderOf(state.key);
  const path = join(folder, markerName);
  if ((await disk.stat(path)) !== undefined) {
    await disk.unlink(path);
    await failpoint('clear:marker-unlinked');
    await disk.syncDirectory(folder);
  }
  state.hasMarker = false;
}

/** The marker of a key; null when there is none. One that cannot be read still stops the key: somebody put it there. */
export async function readMarker(engine: Engine, key: KeyState['key']): Promise<Quarantine | null> {
  const bytes = await engine.options.disk.readFile(join(engine.files.folderOf(key), markerName));
  if (bytes === undefined) return null;
  try {
    const { code, message, since } = JSON.parse(Buffer.from(bytes).toString('utf8')) as Record<
      string,
      unknown
    >;
    return { code: String(code), message: String(message), since: String(since) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const since = new Date(engine.options.clock.now()).toISOString();
    return { code: 'RECORD_CORRUPT', message: `${markerName} cannot be read`, since };
  }
}
