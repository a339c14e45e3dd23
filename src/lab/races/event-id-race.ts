import type { AppendInput, AppendOutcome } from '#queue';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { emptyCursor } from '#record';
import { openLabQueue } from '../lab-queue.ts';
import { labKey, labRecord } from '../records.ts';
import { scatter, type Race } from './race.ts';

type Append = (input: AppendInput) => Promise<AppendOutcome['status'] | undefined>;

/** Looks an id up, appends, and notes the id when the append is done (ING-T30). */
function careless(queue: FilesystemQueue): Append {
  const known = new Set<string>();
  return async (input) => {
    const { eventId = '', ...anonymous } = input;
    if (known.has(eventId)) return 'duplicate';
    const [outcome] = await queue.append([anonymous]);
    known.add(eventId);
    return outcome?.status;
  };
}

/** Two requests with one event id are in flight at once: one line, and both are answered. */
export const oneIdTwice: Race = {
  guard: 'G30',
  name: 'two requests with one event id',
  defect: 'the id is looked up before the append and noted after it',
  async isDamaged(variant, chance) {
    const queue = await openLabQueue();
    const append: Append =
      variant === 'real'
        ? async (input) => (await queue.append([input]))[0]?.status
        : careless(queue);
    const send = async (): Promise<string | undefined> => {
      await scatter(chance);
      return append(labRecord({ eventId: 'one', data: { n: 1 } }));
    };
    await Promise.all([send(), send()]);
    const { items } = await queue.readBatch(labKey(), { records: 10, bytes: 2 ** 20 });
    await queue.close();
    return items.length !== 1;
  },
};

/** A dead event is requeued by an operator and sent again by its client in the same moment: it must come back once (ING-515, ING-714). */
export const requeueAgainstResend: Race = {
  guard: 'ING-714',
  name: 'requeue against the sender of the same event',
  defect: 'the requeue does not name the letter that it settles',
  async isDamaged(variant, chance) {
    const queue = await openLabQueue();
    const id = await buryOne(queue);
    const data = { n: 1 };
    const requeue = async (): Promise<unknown> => {
      await scatter(chance);
      const input = labRecord({ eventId: 'one', data });
      const { eventId: _dropped, ...blind } = input;
      return queue.append([variant === 'real' ? { ...input, settles: id } : blind]);
    };
    const resend = async (): Promise<unknown> => {
      await scatter(chance);
      return queue.append([labRecord({ eventId: 'one', data })]);
    };
    // One of the two may be told that the other was first.
    await Promise.allSettled([requeue(), resend()]);
    const { pending, dead } = queue.totals();
    await queue.close();
    return pending !== 1 || dead !== 0;
  },
};

async function buryOne(queue: FilesystemQueue): Promise<string> {
  const key = labKey();
  await queue.append([labRecord({ eventId: 'one', data: { n: 1 } })]);
  const { items } = await queue.readBatch(key, { records: 1, bytes: 1 });
  const [item] = items;
  if (item === undefined) throw new TypeError('what was appended can be read');
  const error = { code: 'EVENT_CONTRADICTS', message: 'it contradicts itself' };
  const letter = { at: item.at, raw: item.raw, attempts: 3, error };
  await queue.deadLetter(key, [letter], item.after, emptyCursor());
  return (await queue.readDeadLetters(key))[0]?.id ?? '';
}
