import type { Position } from '#record';
import type { PackedPlan } from './packed-plan.ts';

/** One batch on its way to the fold's thread. */
export interface FoldOrder {
  readonly key: string;
  /** As JSON value; a cursor is one (ING-200). */
  readonly cursor: unknown;
  /** Where each record stands in its log, and its length in the bytes of the request. */
  readonly items: readonly (readonly [at: Position, after: Position, length: number])[];
}

export interface FoldRequest {
  readonly kind: 'fold';
  readonly spillBytes: number;
  readonly recordsMax: number;
  readonly bytesMax: number;
  /** The JSON of FoldOrder[]: one text crosses faster than the objects. */
  readonly orders: string;
  /** The records of all orders, one after another; handed over. */
  readonly raws: Uint8Array<ArrayBuffer>;
}

/** A plan without its bytes; null where the batch has to be planned step by step. */
export type FoldHead = Omit<PackedPlan, 'packed' | 'values'> & {
  readonly packedBytes: number;
  readonly values: readonly {
    readonly sha256: string;
    readonly bytes: number;
    readonly mediaType: string;
  }[];
};

export interface FoldAnswer {
  /** The JSON of (FoldHead | null)[], one for each order. */
  readonly heads: string;
  /** Of each plan its packed steps, then its values; handed over. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** What it has cost of a core, in ms. */
  readonly ranMs: number;
}

export function encodeHead(plan: PackedPlan): FoldHead {
  const { packed, values, ...head } = plan;
  return {
    ...head,
    packedBytes: packed.byteLength,
    values: values.map(({ sha256, bytes, mediaType }) => ({
      sha256,
      bytes: bytes.byteLength,
      mediaType,
    })),
  };
}

/** The plans of an answer, in the order of its request. */
export function decodePlans({
  heads,
  bytes,
}: Omit<FoldAnswer, 'ranMs'>): (PackedPlan | undefined)[] {
  let at = 0;
  const take = (length: number): Uint8Array => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  return (JSON.parse(heads) as (FoldHead | null)[]).map((head) => {
    if (head === null) return undefined;
    const { packedBytes, values, ...plan } = head;
    return {
      ...plan,
      packed: take(packedBytes),
      values: values.map((value) => ({ ...value, bytes: take(value.bytes) })),
    };
  });
}
