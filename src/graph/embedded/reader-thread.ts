import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { assert, systemClock, type ThreadReply, type ThreadRequest, type Timer } from '#base';
import { graphUnavailable } from '../errors.ts';
import { namedQuery } from '../queries/named-queries.ts';
import { CypherReader } from './cypher-reader.ts';
import { digestOf, exportChunks, statsOf } from './export-lines.ts';
import { openForReading } from './open-database.ts';
import { quietSessions } from './quiet-sessions.ts';
import { namedUntil, unreferenced } from './object-references.ts';
import { usedBytes } from './used-bytes.ts';
import { QueryRunner } from './run-query.ts';
import { Snapshots } from './snapshots.ts';
import { encodeFailure, type ReaderRequest } from './wire.ts';
import type { ThreadStart } from './wire.ts';

/** A reader's thread: queries on one connection, each export on one of its own, so that it stays at its instant. */
const port = parentPort;
assert(port !== null, 'this is a worker thread');
const start = workerData as ThreadStart;

/** Exports that may be open at once; each keeps a snapshot, and the write-ahead log behind it, so one that nobody reads from ends. */
const exportsMax = 4;
const exportIdleMs = 60_000;

interface OpenExport {
  readonly database: DatabaseSync;
  readonly chunks: Generator<string>;
  idle: Timer;
}

const snapshots = new Snapshots(start);
const openExports = new Map<number, OpenExport>();
let nextExport = 1;

function openExport(): number {
  if (openExports.size >= exportsMax)
    throw graphUnavailable({ reason: `${exportsMax} exports run; wait until one has ended` });
  const { database } = openForReading(start);
  database.exec('BEGIN');
  const id = nextExport;
  nextExport += 1;
  openExports.set(id, { database, chunks: exportChunks(database), idle: idleTimer(id) });
  return id;
}

function idleTimer(id: number): Timer {
  return systemClock.after(exportIdleMs, () => closeExport(id));
}

function closeExport(id: number): void {
  const open = openExports.get(id);
  open?.idle.cancel();
  open?.database.close();
  openExports.delete(id);
}

/** Undefined at the end. */
function nextChunk(id: number): Uint8Array | undefined {
  const open = openExports.get(id);
  if (open === undefined)
    throw graphUnavailable({ reason: `nobody read from this export for ${exportIdleMs} ms` });
  open.idle.cancel();
  const chunk = open.chunks.next();
  if (chunk.done !== true) {
    open.idle = idleTimer(id);
    return new TextEncoder().encode(chunk.value);
  }
  closeExport(id);
  return undefined;
}

function answer(
  database: DatabaseSync,
  { runner, cypher }: { readonly runner: QueryRunner; readonly cypher: CypherReader },
  request: ReaderRequest,
): unknown {
  switch (request.kind) {
    case 'query': {
      const limits = { rows: request.limit, timeMs: request.timeLimitMs };
      return runner.run(namedQuery(request.name), request.bindings, limits);
    }
    case 'cypher':
      return cypher.run(request.query, request.cancelled);
    case 'quiet':
      return quietSessions(database, request.which);
    case 'unreferenced':
      return unreferenced(database, request.objects);
    case 'named-until':
      return namedUntil(database, request.objects);
    case 'used-bytes':
      return usedBytes(database);
    case 'digest':
      return digestOf(database);
    case 'stats':
      return statsOf(database);
    case 'snapshot-open':
      return snapshots.open();
    case 'snapshot-copy':
      return snapshots.copy(request.snapshot, request.path);
    case 'snapshot-close':
      return snapshots.close(request.snapshot);
    case 'export-open':
      return openExport();
    case 'export-next':
      return nextChunk(request.export);
    case 'export-close':
      return closeExport(request.export);
  }
}

function send(reply: ThreadReply): void {
  const result = 'result' in reply ? reply.result : undefined;
  const transfer = result instanceof Uint8Array ? [result.buffer as ArrayBuffer] : [];
  port?.postMessage(reply, transfer);
}

async function sendLater(id: number, result: Promise<unknown>): Promise<void> {
  try {
    send({ id, result: await result });
  } catch (error) {
    send({ id, failure: encodeFailure(error) });
  }
}

function serve(database: DatabaseSync): void {
  const tools = {
    runner: new QueryRunner(database, systemClock),
    cypher: new CypherReader(database, systemClock),
  };
  port?.on('message', ({ id, request }: ThreadRequest<ReaderRequest>) => {
    try {
      const result = answer(database, tools, request);
      if (result instanceof Promise) void sendLater(id, result);
      else send({ id, result });
    } catch (error) {
      send({ id, failure: encodeFailure(error) });
    }
  });
}

try {
  const { database, opened } = openForReading(start);
  serve(database);
  send({ id: 0, result: opened });
} catch (error) {
  send({ id: 0, failure: encodeFailure(error) });
}
