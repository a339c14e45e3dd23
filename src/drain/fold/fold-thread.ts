import { parentPort } from 'node:worker_threads';
import { assert, giveWay, joinedAlone, type ThreadReply, type ThreadRequest } from '#base';
import { fold } from '#handlers';
import type { Cursor, Key } from '#record';
import {
  encodeHead,
  type FoldAnswer,
  type FoldHead,
  type FoldOrder,
  type FoldRequest,
} from './fold-wire.ts';
import { packPlan, type PackedPlan } from './packed-plan.ts';
import { planBatch } from './plan-batch.ts';

/** The fold's thread: parses, folds and packs, so that the main thread is left to those who wait for an answer. */
const port = parentPort;
assert(port !== null, 'this is a worker thread');

function answer({ orders, raws, spillBytes, recordsMax, bytesMax }: FoldRequest): FoldAnswer {
  const before = process.threadCpuUsage();
  let at = 0;
  const heads: (FoldHead | null)[] = [];
  const parts: Uint8Array[] = [];
  for (const order of JSON.parse(orders) as FoldOrder[]) {
    const items = order.items.map(([start, after, length]) => {
      at += length;
      return { at: start, after, raw: raws.subarray(at - length, at) };
    });
    const plan = planBatch({
      key: order.key as Key,
      cursor: order.cursor as Cursor,
      items,
      appliedThrough: null,
      spillBytes,
      fold,
    });
    const packed: PackedPlan | undefined = packPlan(plan, { records: recordsMax, bytes: bytesMax });
    heads.push(packed === undefined ? null : encodeHead(packed));
    if (packed !== undefined) parts.push(packed.packed, ...packed.values.map(({ bytes }) => bytes));
  }
  const text = JSON.stringify(heads);
  const bytes = joinedAlone(parts);
  const { user, system } = process.threadCpuUsage(before);
  return { heads: text, bytes, ranMs: (user + system) / 1000 };
}

giveWay();
port.on('message', ({ id, request }: ThreadRequest<FoldRequest>) => {
  let reply: ThreadReply;
  const handedOver: ArrayBuffer[] = [];
  try {
    const result = answer(request);
    handedOver.push(result.bytes.buffer);
    reply = { id, result };
  } catch (error) {
    reply = { id, failure: error };
  }
  port.postMessage(reply, handedOver);
});
