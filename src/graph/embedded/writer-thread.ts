import { parentPort, workerData } from 'node:worker_threads';
import { assert, giveWay, type ThreadReply, type ThreadRequest } from '#base';
import { graphDamaged } from '../errors.ts';
import { GraphWriter } from './graph-writer.ts';
import { openForWriting } from './open-database.ts';
import { encodeFailure, type Failure, type WirePart } from './wire.ts';
import type { WriterRequest, WriterStart } from './wire.ts';

/** The writer's thread: one request after another, in the order in which they came. */
const port = parentPort;
assert(port !== null, 'this is a worker thread');

function reply(answer: ThreadReply): void {
  port?.postMessage(answer);
}

function answer(writer: GraphWriter, request: WriterRequest): unknown {
  switch (request.kind) {
    case 'arm':
      return writer.arm(request.fence, request.keys);
    case 'apply':
      return writer.apply(
        request.fence,
        request.rootId,
        JSON.parse(textOf(request.group)) as readonly WirePart[],
      );
    case 'adopt':
      return writer.adopt(request.fence, request.rows);
    case 'survey':
      return writer.survey(request.workspace, request.session);
    case 'descendants':
      return writer.descendants(request.workspace, request.session);
    case 'remove':
      return writer.remove(request.fence, request.sessions);
    case 'rows':
      return writer.rows(request.which);
    case 'vacuum':
      return writer.vacuum();
    case 'probe':
      return writer.probe();
    case 'close':
      return writer.close();
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** From the first damage on nothing is written: what is built on a broken page is broken too. */
function serve(writer: GraphWriter): void {
  let damage: Failure | undefined;
  port?.on('message', ({ id, request }: ThreadRequest<WriterRequest>) => {
    try {
      if (damage !== undefined && request.kind !== 'close') reply({ id, failure: damage });
      else reply({ id, result: answer(writer, request) });
    } catch (error) {
      const failure = encodeFailure(error);
      if (failure.code === graphDamaged.code) damage = failure;
      reply({ id, failure });
    }
    if (request.kind === 'close') port?.close();
  });
}

giveWay();
try {
  const { database, opened } = openForWriting(workerData as WriterStart);
  serve(new GraphWriter(database));
  reply({ id: 0, result: opened });
} catch (error) {
  reply({ id: 0, failure: encodeFailure(error) });
}
