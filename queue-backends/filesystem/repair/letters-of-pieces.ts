import { isUtf8 } from 'node:buffer';
import { sha256Hex } from '#base';
import { parseLine } from '#record';
import type { DeadLine } from '../journal/payloads.ts';
import type { KeyState } from '../session/key-state.ts';
import { letterIdAt } from '../session/letters.ts';
import type { SessionFiles } from '../session/session-files.ts';
import type { LogPiece } from './scan-log.ts';

export interface LetterWords {
  readonly ts: string;
  readonly error: { readonly code: string; readonly message: string };
}

/** A larger range becomes several letters, so that none is larger than what a program can hold. */
const rangeBytesMax = 8 * 1024 * 1024;

function letterAt(
  state: KeyState,
  start: number,
  end: number,
  bytes: Buffer,
  words: LetterWords,
): DeadLine {
  return {
    v: 1,
    id: letterIdAt(state, start),
    ts: words.ts,
    epoch: state.epoch,
    ordinal: state.ordinal,
    pos_start: start,
    pos_end: end,
    sha256: sha256Hex(bytes),
    attempts: 0,
    error: words.error,
    ...(isUtf8(bytes)
      ? { payload: bytes.toString('utf8') }
      : { payload_b64: bytes.toString('base64') }),
  };
}

/** A sound record that is skipped: a letter like any other, which can be requeued. */
export function recordLetter(
  state: KeyState,
  piece: Extract<LogPiece, { kind: 'record' }>,
  words: LetterWords,
): DeadLine {
  const { offset, end, raw } = piece;
  const id = parseLine(raw, state.key).record?.id;
  const letter = letterAt(state, offset, end, Buffer.from(raw), words);
  return id === undefined ? letter : { ...letter, event_id: id };
}

/** The bytes of a damaged range as one letter that counts its records; of a very large one as several, the first of which counts (ING-412). */
export async function rangeLetters(
  files: SessionFiles,
  state: KeyState,
  range: { readonly from: number; readonly to: number },
  records: number,
  words: LetterWords,
): Promise<readonly DeadLine[]> {
  const letters: DeadLine[] = [];
  for (let at = range.from; at < range.to; at += rangeBytesMax) {
    const end = Math.min(at + rangeBytesMax, range.to);
    const bytes = Buffer.alloc(end - at);
    (await files.read(state, at, end - at)).copy(bytes);
    const letter = letterAt(state, at, end, bytes, words);
    letters.push({ ...letter, records: letters.length === 0 ? records : 0 });
  }
  return letters;
}
