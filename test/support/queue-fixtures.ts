import {
  createMemoryStore,
  openMemoryQueue,
  type MemoryQueueOptions,
  type MemoryStore,
} from '#queue-backends/memory';
import { FencePermit } from '#fence';
import type { AppendInput, QueueBackend, QueueLedger } from '#queue';
import { encodeKey, type Key } from '#record';

export type Queue = QueueBackend & QueueLedger;

/** A permit as room fence would give it out; live until the test says otherwise. */
export function testPermit(generation = 1, isLive: () => boolean = () => true): FencePermit {
  return FencePermit.issue('daemon:SR-test', generation, `holder-${generation}`, isLive);
}

/** The memory queue with defaults for everything that a test does not care about. */
export function openTestQueue(
  options: Partial<MemoryQueueOptions> = {},
): Queue & { readonly store: MemoryStore } {
  const store = options.store ?? createMemoryStore();
  const queue = openMemoryQueue({ permit: testPermit(), ...options, store });
  return Object.assign(queue, { store });
}

export interface TestRecord {
  readonly session?: string;
  readonly workspace?: string;
  readonly event?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly eventId?: string;
  readonly isDerivedId?: boolean;
  readonly principal?: string;
  readonly mayWriteForeign?: boolean;
  readonly settles?: string;
}

export const testWorkspace = 'w';

export function testKey(session = 's', workspace: string = testWorkspace): Key {
  return encodeKey(workspace, session);
}

/** An append with a stored line as admission builds it. */
export function testRecord(record: TestRecord = {}): AppendInput {
  const { session = 's', workspace = testWorkspace, event = 'test:event', data = {} } = record;
  const { eventId, isDerivedId, principal = 'agent', mayWriteForeign, settles } = record;
  const line = {
    v: 1,
    sid: session,
    ...(eventId === undefined ? {} : { id: eventId }),
    ...(isDerivedId === true ? { derived: true } : {}),
    at: '2026-01-01T00:00:00.000Z',
    ws: workspace,
    by: principal,
    ev: event,
    data,
  };
  return {
    key: testKey(session, workspace),
    workspace,
    session,
    raw: Buffer.from(JSON.stringify(line)),
    principal,
    ...(eventId === undefined ? {} : { eventId }),
    ...(isDerivedId === undefined ? {} : { isDerivedId }),
    ...(mayWriteForeign === undefined ? {} : { mayWriteForeign }),
    ...(settles === undefined ? {} : { settles }),
  };
}
