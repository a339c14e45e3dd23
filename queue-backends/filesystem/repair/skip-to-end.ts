import { frameKinds } from '../journal/frame.ts';
import type { DeadLine } from '../journal/payloads.ts';
import { booksAfter } from './books.ts';
import type { Clearing, Move } from './clear-quarantine.ts';
import { waitingBehind } from './examine.ts';
import { recordLetter, rangeLetters, type LetterWords } from './letters-of-pieces.ts';
import { countBreaks, type LogPiece, scanAhead } from './scan-log.ts';
import { offsetIn, payloadBase, setPosition } from './set-position.ts';

/** Letters of one frame at most, in bytes of their records: what is skipped may be as large as a backlog. */
const frameBytesMax = 4 * 1024 * 1024;

/**
 * Everything that waits becomes dead letters, each in the frame that moves the position past it. A long backlog takes several frames; all but the
 * last leave the key in quarantine, so one that is cut off is simply taken again and goes on where it ended.
 */
export async function skipToEnd(
  clearing: Clearing,
  move: Move,
): Promise<readonly Pick<DeadLine, 'records'>[]> {
  const { engine, state, order, found } = clearing;
  await engine.records.keepReplaced(engine.files.folderOf(state.key));
  const made: Pick<DeadLine, 'records'>[] = [];
  let at = move.at;
  const damaged = waitingBehind(state, at, found.ahead) - found.ahead.waiting;
  const share = new RangeShare(damaged, found.ahead.damageCount);
  for (;;) {
    const part = await nextPart(clearing, at.offset, share);
    const isLast = part.after === state.end;
    const { letters, after } = part;
    const books = await booksAfter(engine, state, found.dead, { at, after, letters });
    await setPosition(engine, state, frameKinds.quarantineClear, {
      ...payloadBase(engine, state, order, order.mode),
      after,
      seq: Math.max(state.seq, at.seq) + 1,
      cursor: move.cursor,
      applied: appliedBehind(clearing, move, after),
      end: state.end,
      ...books,
      ...(letters.length === 0 ? {} : { dead: letters }),
      ...(isLast ? {} : { more: true }),
    });
    for (const { records } of letters) made.push(records === undefined ? {} : { records });
    if (isLast) return made;
    at = { ...at, offset: after, isOfBooks: true };
  }
}

/** What the graph holds beyond the position is among what is skipped: queue and graph go on knowing each other by it (ING-541). */
function appliedBehind({ state, help }: Clearing, move: Move, after: number): Move['applied'] {
  const row = help.graphRow;
  const offset = offsetIn(state, row?.position);
  const mark = offsetIn(state, move.applied?.position) ?? 0;
  return offset !== undefined && offset > mark && offset <= after ? row : move.applied;
}

/** How many records each damaged range gets: the last one what the books still miss. */
class RangeShare {
  #left: number;
  #ranges: number;

  constructor(records: number, ranges: number) {
    this.#left = records;
    this.#ranges = ranges;
  }

  next(breaks: number): number {
    this.#ranges -= 1;
    const share = this.#ranges === 0 ? this.#left : Math.min(breaks, this.#left);
    this.#left -= share;
    return share;
  }
}

interface Part {
  readonly letters: readonly DeadLine[];
  readonly after: number;
}

async function nextPart(clearing: Clearing, from: number, share: RangeShare): Promise<Part> {
  const { engine, state } = clearing;
  const words = wordsOf(clearing);
  const letters: DeadLine[] = [];
  let bytes = 0;
  for await (const piece of scanAhead(engine.files, state, from, state.end)) {
    if (bytes > 0 && bytes + (piece.end - piece.offset) > frameBytesMax)
      return { letters, after: piece.offset };
    bytes += piece.end - piece.offset;
    letters.push(...(await lettersOf(clearing, piece, share, words)));
  }
  return { letters, after: state.end };
}

async function lettersOf(
  { engine, state, found }: Clearing,
  piece: LogPiece,
  share: RangeShare,
  words: LetterWords,
): Promise<readonly DeadLine[]> {
  if (piece.kind === 'record')
    return found.dead.has(piece.offset) ? [] : [recordLetter(state, piece, words)];
  const range = { from: piece.offset, to: piece.end };
  const records = share.next(await countBreaks(engine.files, state, piece));
  return rangeLetters(engine.files, state, range, records, words);
}

function wordsOf({ engine, state, order }: Clearing): LetterWords {
  const { code, message } = state.quarantine ?? { code: '', message: '' };
  return {
    ts: new Date(engine.options.clock.now()).toISOString(),
    error: { code, message: `skipped to the end of the log by ${order.by}: ${message}` },
  };
}
