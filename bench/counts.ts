import { localPrincipal } from '#access';
import { systemChance, systemClock } from '#base';
import { nodeDisk, type Disk, type DiskFile } from '#disk';
import { createDrain } from '#drain';
import { createIngest, type Ingest } from '#ingest';
import { batchCommitted, groupApplied, journalSynced } from '#signals';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { testPermit } from '../test/support/queue-fixtures.ts';
import { benchRootId, withGraph, withQueue } from './place.ts';
import type { BenchAnswer, BenchOptions, Question } from './question.ts';

/**
 * What an event costs in things that can be counted: they are nearly the same on every machine, however busy, so they have bounds that fail the
 * run. Calls to the disk have none: session files are written five times a second, however little there is to write.
 */
export const counts: Question = {
  name: 'counts',
  asks: 'syncs, frames, calls to the disk, bytes written and transactions for each event, 64 requests in flight, 100 sessions',
  run,
};

const lanes = 64;
const sessions = 100;
const textBytes = 800;

interface Counted {
  syncs: number;
  frames: number;
  journalBytes: number;
  diskCalls: number;
  diskBytes: number;
  groups: number;
  commits: number;
  applied: number;
}

async function run({ isSmoke }: BenchOptions): Promise<BenchAnswer> {
  const events = isSmoke ? 6_400 : 64_000;
  const counted: Counted = {
    syncs: 0,
    frames: 0,
    journalBytes: 0,
    diskCalls: 0,
    diskBytes: 0,
    groups: 0,
    commits: 0,
    applied: 0,
  };
  const disk = countingDisk(nodeDisk(), counted);
  const bodyBytes = await withQueue(disk, async ({ directory, queue }) => {
    const end = journalSynced.subscribe(({ frames, bytes }) => {
      counted.syncs += 1;
      counted.frames += frames;
      counted.journalBytes += bytes;
    });
    const posted = await post(queue, events);
    end();
    await drainAll(directory, queue, counted);
    return posted;
  });
  const per = (count: number): number => Math.round((count / events) * 10_000) / 10_000;
  const figures = {
    syncs_per_event: per(counted.syncs),
    frames_per_event: per(counted.frames),
    journal_bytes_per_body_byte: Math.round((counted.journalBytes / bodyBytes) * 100) / 100,
    disk_calls_per_event: per(counted.diskCalls),
    disk_bytes_per_body_byte: Math.round((counted.diskBytes / bodyBytes) * 100) / 100,
    graph_transactions_per_event: per(counted.groups),
    commits_per_event: per(counted.commits),
  };
  return {
    figures,
    gates: {
      'syncs per event ≤ 0.05': figures.syncs_per_event <= 0.05,
      'one frame for each request': counted.frames === events,
      'journal ≤ 1.5 × the bodies': figures.journal_bytes_per_body_byte <= 1.5,
      'bytes to the disk ≤ 3 × the bodies': figures.disk_bytes_per_body_byte <= 3,
      'transactions per event ≤ 0.01': figures.graph_transactions_per_event <= 0.01,
      'commits per event ≤ 0.05': figures.commits_per_event <= 0.05,
      'every event is applied': counted.applied === events,
    },
  };
}

/** Calls and bytes that reach the disk, but for the zeros that new segments are made of. */
function countingDisk(inner: Disk, counted: Counted): Disk {
  const write = (buffers: readonly Uint8Array[]): void => {
    if (buffers.every(isZero)) return;
    counted.diskCalls += 1;
    for (const { byteLength } of buffers) counted.diskBytes += byteLength;
  };
  const counting = (file: DiskFile): DiskFile => ({
    ...file,
    path: file.path,
    writeAt(buffers, offset) {
      write(buffers);
      return file.writeAt(buffers, offset);
    },
    writeDurablyAt(buffers, offset) {
      write(buffers);
      if (file.writeDurablyAt !== undefined) return file.writeDurablyAt(buffers, offset);
      return file.writeAt(buffers, offset).then(() => file.sync());
    },
    sync() {
      counted.diskCalls += 1;
      return file.sync();
    },
  });
  return { ...inner, open: async (path, mode) => counting(await inner.open(path, mode)) };
}

function isZero(bytes: Uint8Array): boolean {
  return bytes[0] === 0 && bytes.every((byte) => byte === 0);
}

/** Posts all through the door of ingest; returns the bytes of all bodies. */
async function post(queue: FilesystemQueue, events: number): Promise<number> {
  const ingest = openIngest(queue);
  let next = 0;
  let bytes = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < events; at = next++) {
      const body = bodyOf(at);
      bytes += body.byteLength;
      await ingest.accept({ body, form: 'json', principal: localPrincipal });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await ingest.stop();
  return bytes;
}

function openIngest(queue: FilesystemQueue): Ingest {
  return createIngest({
    queue,
    ledger: queue,
    clock: systemClock,
    limits: {
      batchBytesMax: 2 ** 20,
      batchRecordsMax: 1000,
      eventBytesMax: 2 ** 20,
      inFlightBytesMax: 2 ** 30,
      queueBytesMax: 2 ** 33,
      idWaitMs: 10_000,
    },
    keyEncoding: 'plain',
    onAppended: () => undefined,
  });
}

function bodyOf(at: number): Buffer {
  const timestamp = new Date(Date.UTC(2026, 5, 1) + at).toISOString();
  return Buffer.from(
    JSON.stringify({
      event: 'tool:post',
      workspace: 'bench',
      event_id: `event-${at}`,
      data: {
        session_id: `session-${at % sessions}`,
        timestamp,
        tool_name: 'read_file',
        tool_call_id: `call-${at}`,
        result: 'x'.repeat(textBytes),
      },
    }),
  );
}

async function drainAll(
  directory: string,
  queue: FilesystemQueue,
  counted: Counted,
): Promise<void> {
  const ends = [
    groupApplied.subscribe(({ records }) => {
      counted.groups += 1;
      counted.applied += records;
    }),
    batchCommitted.subscribe(() => {
      counted.commits += 1;
    }),
  ];
  await withGraph(directory, async (graph) => {
    const drain = createDrain(
      {
        queue,
        ledger: queue,
        graph,
        objects: {
          put: () => Promise.resolve(),
          read: () => Promise.resolve(undefined),
          has: () => Promise.resolve(true),
          close: () => Promise.resolve(),
        },
        permit: testPermit(),
        rootId: benchRootId,
        expectedGraphId: undefined,
        clock: systemClock,
        chance: systemChance,
        onStop(error) {
          throw error;
        },
      },
      { isThreaded: true },
    );
    drain.start();
    await drain.idle(new AbortController().signal);
    await drain.stop(10_000);
  });
  for (const end of ends) end();
}
