/**
 * Tokens of JSON in bytes: where they end. Each function takes where something begins and returns one past its end, or `none`.
 */

/** What begins there is no JSON, or too deep, or not plain. */
export const none = -1;

export const quote = 0x22;
export const backslash = 0x5c;
export const space = 0x20;

const allHighBits = 0x80808080 | 0;

/** Whether or-ed bytes, up to four side by side, were ASCII all of them. */
export function wereAscii(seen: number): boolean {
  return (seen & allHighBits) === 0;
}

/**
 * Whether one of four bytes is a quote, a backslash or a control character: subtracting from all four at once borrows into the highest bit of a byte that is too
 * small. Half a nanosecond a byte, where looking at each takes one and a search has to be begun.
 */
export function hasStop(word: number): boolean {
  const quoted = word ^ 0x22222222;
  const slashed = word ^ 0x5c5c5c5c;
  return (
    ((((word - 0x20202020) & ~word) |
      ((quoted - 0x01010101) & ~quoted) |
      ((slashed - 0x01010101) & ~slashed)) &
      allHighBits) !==
    0
  );
}

/** One past an escape; `at` is behind its backslash. */
export function escapeEnd(bytes: Buffer, at: number): number {
  switch (bytes[at]) {
    case 0x6e: // n
    case quote:
    case backslash:
    case 0x2f: // /
    case 0x74: // t
    case 0x72: // r
    case 0x62: // b
    case 0x66: // f
      return at + 1;
    case 0x75: // u
      for (let digit = at + 1; digit <= at + 4; digit += 1)
        if (!isHexDigit(bytes[digit])) return none;
      return at + 5;
    default:
      return none;
  }
}

function isHexDigit(code: number | undefined): boolean {
  if (code === undefined) return false;
  return isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
}

export function numberEnd(bytes: Buffer, from: number): number {
  let at = bytes[from] === 0x2d ? from + 1 : from;
  const first = bytes[at];
  if (!isDigit(first)) return none;
  at = first === 0x30 ? at + 1 : digitsEnd(bytes, at);
  if (bytes[at] === 0x2e) {
    if (!isDigit(bytes[at + 1])) return none;
    at = digitsEnd(bytes, at + 1);
  }
  const exponent = bytes[at];
  if (exponent !== 0x65 && exponent !== 0x45) return at;
  const sign = bytes[at + 1];
  const digits = sign === 0x2b || sign === 0x2d ? at + 2 : at + 1;
  return isDigit(bytes[digits]) ? digitsEnd(bytes, digits) : none;
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= 0x30 && code <= 0x39;
}

function digitsEnd(bytes: Buffer, from: number): number {
  let at = from;
  while (isDigit(bytes[at])) at += 1;
  return at;
}
