import { fold } from '#handlers';
import type { CursorFold } from '#queue';
import { parseLine } from '#record';

/**
 * The cursor behind a record as the drain would keep it, with nothing sent: for a position whose cursor is lost (ING-412). A record that cannot be
 * folded becomes a dead letter in the drain and leaves the cursor as it was, here too (ING-510).
 */
export function cursorFold(spillBytes: number): CursorFold {
  return (key, cursor, raw) => {
    const { record } = parseLine(raw, key);
    if (record === undefined) return cursor;
    try {
      return fold(cursor, record, { spillBytes }).cursor;
    } catch (error) {
      if (error instanceof Error) return cursor;
      throw error;
    }
  };
}
