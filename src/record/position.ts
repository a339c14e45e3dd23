/**
 * Where in a key's log. Opaque outside a backend; positions of one key sort as strings in log order, across epochs too (ING-107):
 * callers compare, they never compute.
 */
export type Position = string & { readonly __position: unique symbol };

/** What a log-structured backend puts into a position. */
export interface PositionParts {
  /** Number of the epoch, 0 for the key's first. */
  readonly ordinal: number;
  /** Bytes since the epoch began. */
  readonly offset: number;
  readonly epoch: string;
}

const pattern = /^([0-9a-f]{8})\.([0-9a-f]{14})\.([A-Za-z0-9_-]{1,64})$/;
const ordinalMax = 0xffffffff;

/** Fixed widths, ordinal first, so that text order is log order. Asserts its ranges by throwing RangeError: a bug of the backend. */
export function formatPosition(parts: PositionParts): Position {
  const { ordinal, offset, epoch } = parts;
  if (!Number.isSafeInteger(ordinal) || ordinal < 0 || ordinal > ordinalMax) {
    throw new RangeError(`ordinal ${ordinal} is out of range`);
  }
  if (!Number.isSafeInteger(offset) || offset < 0)
    throw new RangeError(`offset ${offset} is out of range`);
  if (epoch !== lastEpoch) {
    if (!epochPattern.test(epoch))
      throw new RangeError(`epoch ${JSON.stringify(epoch)} cannot stand in a position`);
    lastEpoch = epoch;
  }
  return `${hex(ordinal, ordinalDigits)}.${hex(offset, offsetDigits)}.${epoch}` as Position;
}

const epochPattern = /^[A-Za-z0-9_-]{1,64}$/;
/** Positions are made in rows, of one key after another. */
let lastEpoch: string | undefined;

/** Undefined for everything that `formatPosition` cannot have made. */
export function parsePosition(text: string): PositionParts | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, ordinalHex = '', offsetHex = '', epoch = ''] = match;
  const offset = Number.parseInt(offsetHex, 16);
  if (!Number.isSafeInteger(offset)) return undefined;
  return { ordinal: Number.parseInt(ordinalHex, 16), offset, epoch };
}

const ordinalDigits = 8;
const offsetDigits = 14;
/** Cut to what is missing: a third of the time that padding takes. */
const zeros = '0'.repeat(offsetDigits);

function hex(value: number, digits: number): string {
  const text = value.toString(16);
  return zeros.slice(0, digits - text.length) + text;
}
