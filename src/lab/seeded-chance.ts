import type { Chance } from '#base';

/** Chance from a seed: the same seed gives the same run. */
export function seededChance(seed: number): Chance {
  let state = seed >>> 0;
  /** A 32-bit mix of a counter: every seed, 0 too, gives a full period. */
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
  const bytes = (count: number): Uint8Array =>
    Uint8Array.from({ length: count }, () => next() & 0xff);
  return {
    bytes,
    float: () => next() / 2 ** 32,
    uuid() {
      const raw = bytes(16);
      raw[6] = ((raw[6] ?? 0) & 0x0f) | 0x40;
      raw[8] = ((raw[8] ?? 0) & 0x3f) | 0x80;
      return Buffer.from(raw)
        .toString('hex')
        .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    },
  };
}
