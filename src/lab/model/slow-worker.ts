import { isMillraceError, sha256Hex } from '#base';
import type { Step } from '#graph';
import { fold } from '#handlers';
import type { BatchItem } from '#queue';
import { emptyCursor, parseLine, type Cursor } from '#record';
import { demand } from '../demand.ts';
import { labKey } from '../records.ts';
import { isRefused } from './events.ts';
import type { Life } from './world.ts';

/** A folded record, and the cursor from before it. */
export interface Held {
  readonly item: BatchItem;
  readonly before: Cursor;
  readonly step: Step;
  readonly isRefused: boolean;
}

/** One key's drain in slow motion: each step of it is a command of its own, and anything may happen in between. */
export class SlowWorker {
  readonly session: string;
  /** Read and folded, from the committed position on. */
  held: readonly Held[] = [];
  /** How many of them the graph has answered for. */
  appliedCount = 0;

  constructor(session: string) {
    this.session = session;
  }

  drop(): void {
    this.held = [];
    this.appliedCount = 0;
  }

  /** Reads and folds up to `count` records; what cannot be folded, and what lies behind it, is left. */
  async read({ queue, graph }: Life, count: number): Promise<void> {
    const key = labKey(this.session);
    const batch = await queue.readBatch(key, { records: count, bytes: 2 ** 20 });
    const held: Held[] = [];
    let cursor = await currentCursor(queue, this.session);
    for (const item of batch.items) {
      const folded = foldItem(cursor, item, this.session, graph.spillBytes);
      if (folded === undefined) break;
      held.push({ item, before: cursor, ...folded });
      ({ cursor } = folded.step);
    }
    this.held = held;
    this.appliedCount = 0;
  }
}

export async function currentCursor(queue: Life['queue'], session: string): Promise<Cursor> {
  return (await queue.readCursor(labKey(session))) ?? emptyCursor();
}

/** Undefined for a record that contradicts itself. */
export function foldItem(
  cursor: Cursor,
  { raw, at, after }: BatchItem,
  session: string,
  spillBytes: number,
): Pick<Held, 'step' | 'isRefused'> | undefined {
  const { record, fault } = parseLine(raw, labKey(session));
  demand(record !== undefined, 'what was appended can be read', fault);
  try {
    const folded = fold(cursor, record, { spillBytes });
    const sha256 = sha256Hex(raw);
    const step = { at, after, sha256, mutations: folded.mutations, cursor: folded.cursor };
    return { step, isRefused: isRefused(raw) };
  } catch (error) {
    if (isMillraceError(error) && error.disposition === 'poison') return undefined;
    throw error;
  }
}
