import type { Chance } from '#base';

/** What can be done to a file of a root that nobody has asked for. */
export const harms = [
  'flip',
  'cut',
  'nul-run',
  'garbage',
  'garbage-behind',
  'empty',
  'missing',
  'older-copy',
] as const;
export type Harm = (typeof harms)[number];

export interface Damage {
  /** Below the root. */
  readonly path: string;
  readonly harm: Harm;
}

/** A file of a root, and whether an older copy of it differs from what is there. */
export interface Target {
  readonly path: string;
  readonly bytes: number;
  readonly hasOlder: boolean;
}

/**
 * Chooses a kind of file first and then one of that kind, so that the many of a kind do not hide the single ones; and a harm that can meet it.
 * Undefined where nothing is left to harm.
 */
export function planDamage(chance: Chance, targets: readonly Target[]): Damage | undefined {
  const kinds = [...new Set(targets.map(({ path }) => kindOf(path)))].toSorted();
  const kind = pick(chance, kinds);
  const target = pick(
    chance,
    targets.filter(({ path }) => kindOf(path) === kind),
  );
  if (target === undefined) return undefined;
  const harm = pick(
    chance,
    harms.filter((one) => canMeet(one, target)),
  );
  return harm === undefined ? undefined : { path: target.path, harm };
}

/** Digits, ids and shards say nothing of what a file is for. */
export function kindOf(path: string): string {
  const [top = '', ...rest] = path.split('/');
  const name = rest.at(-1) ?? top;
  if (top === 'objects' && name !== '.store.json') return 'objects/value';
  return `${top}/${name.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '#').replaceAll(/\d+/g, '#')}`;
}

function canMeet(harm: Harm, { bytes, hasOlder }: Target): boolean {
  if (harm === 'older-copy') return hasOlder;
  return bytes > 0 || harm === 'missing' || harm === 'garbage-behind';
}

/** The file after the harm; undefined where it goes. `older` is the copy to be put back. */
export function harmed(
  chance: Chance,
  harm: Harm,
  bytes: Uint8Array,
  older: Uint8Array | undefined,
): Uint8Array | undefined {
  const at = Math.floor(chance.float() * bytes.length);
  switch (harm) {
    case 'flip':
      return flipped(chance, bytes);
    case 'cut':
      return bytes.slice(0, at);
    case 'nul-run': {
      const changed = Uint8Array.from(bytes);
      return changed.fill(0, at, at + 1 + Math.floor(chance.float() * 512));
    }
    case 'garbage':
      return chance.bytes(bytes.length);
    case 'garbage-behind':
      return Buffer.concat([bytes, chance.bytes(1 + Math.floor(chance.float() * 300))]);
    case 'empty':
      return new Uint8Array();
    case 'missing':
      return undefined;
    case 'older-copy':
      return older;
  }
}

function flipped(chance: Chance, bytes: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(bytes);
  const count = 1 + Math.floor(chance.float() * 4);
  for (let nth = 0; nth < count; nth += 1) {
    const at = Math.floor(chance.float() * bytes.length);
    changed[at] = (changed[at] ?? 0) ^ (1 << Math.floor(chance.float() * 8));
  }
  return changed;
}

function pick<T>(chance: Chance, from: readonly T[]): T | undefined {
  return from[Math.floor(chance.float() * from.length)];
}
