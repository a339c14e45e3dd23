import { isJsonObject, JsonInvalid, messageOf, parseJson, type Clock, type JsonValue } from '#base';
import { atomicReplace, type Disk, type StagingNames } from '#disk';
import { TraceSessions, type KeptTrace } from '#formats';
import { daemonNoticed } from '#signals';
import { repeat } from '../repeat.ts';

const version = 1;
/** So much of what was heard may be forgotten by a kill. */
const everyMs = 10_000;

export interface KeptTraces {
  readonly traces: TraceSessions;
  /** Writes what is new, and ends. */
  end(isOurs: boolean): Promise<void>;
}

/** Sessions of OTLP traces, kept over restarts in one small file (B185). One that is missing or cannot be read says nothing. */
export async function keepTraces(
  {
    disk,
    clock,
    names,
  }: { readonly disk: Disk; readonly clock: Clock; readonly names: StagingNames },
  path: string,
): Promise<KeptTraces> {
  const traces = new TraceSessions();
  const bytes = await disk.readFile(path);
  if (bytes !== undefined) traces.recall(parseTraces(bytes));
  let written = traces.changes;
  const write = async (): Promise<void> => {
    const { changes } = traces;
    if (changes === written) return;
    const text = JSON.stringify({ v: version, traces: traces.kept() });
    await atomicReplace(disk, path, Buffer.from(`${text}\n`), names);
    written = changes;
  };
  const endLooks = repeat(clock, everyMs, () =>
    write().catch((error: unknown) =>
      daemonNoticed.publish(() => ({
        code: 'TRACES_NOT_KEPT',
        message: `${path} could not be written, it is tried again: ${messageOf(error)}`,
      })),
    ),
  );
  return {
    traces,
    async end(isOurs) {
      endLooks();
      if (isOurs) await write();
    },
  };
}

export function parseTraces(bytes: Uint8Array): readonly KeptTrace[] {
  let read: JsonValue;
  try {
    read = parseJson(bytes);
  } catch (error) {
    if (error instanceof JsonInvalid) return [];
    throw error;
  }
  if (!isJsonObject(read) || read['v'] !== version || !Array.isArray(read['traces'])) return [];
  return (read['traces'] as readonly JsonValue[]).flatMap((one): KeptTrace[] => {
    if (!Array.isArray(one)) return [];
    const [key, session, hasEarly] = one as readonly JsonValue[];
    const isSession = session === null || typeof session === 'string';
    return typeof key === 'string' && isSession ? [[key, session, hasEarly === true]] : [];
  });
}
