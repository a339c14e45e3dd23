import type { RedactRule } from '#config';
import { localPrincipal, type Principal } from '#access';
import { isJsonObject, parseJson, type JsonObject } from '#base';
import {
  createIngest,
  createRedaction,
  type Ingest,
  type IngestAnswer,
  type IngestLimits,
  type IngestRequest,
} from '#ingest';
import { createMemoryStore } from '#queue-backends/memory';
import type { QueueLimits } from '#queue';
import type { Key } from '#record';
import { fakeClock, type FakeClock } from '../support/clock.ts';
import { openTestQueue, type Queue } from '../support/queue-fixtures.ts';

export const timestamp = '2026-07-08T16:01:27.255264+00:00';

export const limitsDefault: IngestLimits = {
  eventBytesMax: 64 * 1024,
  batchRecordsMax: 100,
  batchBytesMax: 1024 * 1024,
  queueBytesMax: 1024 * 1024 * 1024,
  inFlightBytesMax: 4 * 1024 * 1024,
  idWaitMs: 5000,
};

/** An ingest over the memory queue, with a disk that can fail or be slow. */
export interface IngestBench {
  readonly ingest: Ingest;
  readonly queue: Queue;
  readonly clock: FakeClock;
  readonly appended: Key[];
  /** Lines in the log, of all keys, in the order of keys and positions. */
  stored(): Promise<readonly JsonObject[]>;
  failNextSyncs(count: number): void;
  /** Syncs wait until the returned function is called. */
  holdSyncs(): () => void;
}

export interface BenchOptions {
  readonly limits?: Partial<IngestLimits>;
  readonly queueLimits?: Partial<QueueLimits>;
  readonly redactRules?: () => readonly RedactRule[];
}

export function ingestBench(options: BenchOptions = {}): IngestBench {
  let failures = 0;
  let held: Promise<void> | undefined;
  const store = createMemoryStore(async () => {
    await held;
    if (failures === 0) return;
    failures -= 1;
    throw new Error('EIO: fdatasync');
  });
  const clock = fakeClock();
  const queue = openTestQueue({ store, clock, limits: options.queueLimits ?? {} });
  const appended: Key[] = [];
  const ingest = createIngest({
    queue,
    ledger: queue,
    clock,
    limits: { ...limitsDefault, ...options.limits },
    keyEncoding: 'plain',
    onAppended: (key) => appended.push(key),
    ...(options.redactRules === undefined ? {} : { redact: createRedaction(options.redactRules) }),
  });
  return {
    ingest,
    queue,
    clock,
    appended,
    stored: () => storedLines(queue),
    failNextSyncs(count) {
      failures = count;
    },
    holdSyncs() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
  };
}

async function storedLines(queue: Queue): Promise<readonly JsonObject[]> {
  const lines: JsonObject[] = [];
  for (const { key } of await queue.listKeys({ limit: 1000 })) {
    const { items } = await queue.readBatch(key, { records: 100_000, bytes: 2 ** 30 });
    for (const { raw } of items) {
      const line = parseJson(raw);
      if (!isJsonObject(line)) throw new Error('a stored line is no object');
      lines.push(line);
    }
  }
  return lines;
}

export function event(members: Readonly<Record<string, unknown>> = {}, data: object = {}): string {
  return JSON.stringify({
    event: 'test:event',
    workspace: 'w',
    ...members,
    data: { session_id: 's', timestamp, ...data },
  });
}

export function principal(
  name: string,
  options: { readonly workspaces?: readonly string[]; readonly mayWriteForeign?: boolean } = {},
): Principal {
  return {
    name,
    scopes: new Set(
      options.mayWriteForeign === true ? ['ingest:write', 'ops:write'] : ['ingest:write'],
    ),
    workspaces: options.workspaces,
  };
}

export function post(
  bench: IngestBench,
  text: string | Uint8Array,
  request: Partial<IngestRequest> = {},
): Promise<IngestAnswer> {
  const body = typeof text === 'string' ? Buffer.from(text) : text;
  return bench.ingest.accept({ body, form: 'json', principal: localPrincipal, ...request });
}

export function postLines(
  bench: IngestBench,
  lines: readonly string[],
  request: Partial<IngestRequest> = {},
): Promise<IngestAnswer> {
  return post(bench, lines.join('\n'), { form: 'ndjson', ...request });
}

export function statuses(answer: IngestAnswer): readonly string[] {
  return answer.outcomes.map((outcome) =>
    outcome.status === 'rejected' ? outcome.reject.code : outcome.status,
  );
}

export async function codeOf(act: Promise<unknown>): Promise<string> {
  try {
    await act;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
  return 'none';
}
