import { formatTooNew } from '#base';
import { fenceLost, fenceStale, type FencePermit } from '#fence';
import { stateCorrupt, stateMismatch } from './errors.ts';

/** The highest generation that has written here (FEN-401). */
export interface GuardMark {
  readonly domain: string;
  readonly generation: number;
  readonly holder: string;
}

const markVersion = 1;

/**
 * What the mark becomes when this permit writes; undefined when it stays. FENCE_STALE for a lower generation, or an equal one of another
 * holder; STATE_MISMATCH for another domain, which is foreign and not stale (FEN-402); FENCE_LOST for a permit that has ended.
 */
export function afterPermit(
  mark: GuardMark | undefined,
  permit: FencePermit,
  place: string,
): GuardMark | undefined {
  const { domain, generation, holder } = permit;
  if (!permit.isLive) throw fenceLost({ domain, generation });
  if (mark === undefined) return { domain, generation, holder };
  if (mark.domain !== domain) throw stateMismatch({ place, found: mark.domain, expected: domain });
  const isOther = mark.generation === generation && mark.holder !== holder;
  if (mark.generation > generation || isOther)
    throw fenceStale({ domain, thing: `the state in ${place}`, generation, mark: mark.generation });
  return mark.generation === generation ? undefined : { domain, generation, holder };
}

export function encodeMark(mark: GuardMark): Uint8Array {
  return Buffer.from(JSON.stringify({ v: markVersion, ...mark }));
}

export function decodeMark(bytes: Uint8Array, place: string): GuardMark {
  const thing = `the guard mark of ${place}`;
  let value: Readonly<Record<string, unknown>>;
  try {
    value = JSON.parse(Buffer.from(bytes).toString('latin1')) as typeof value;
  } catch (error) {
    throw stateCorrupt({ thing, reason: 'it is not JSON' }, error);
  }
  const { v, domain, generation, holder } = value;
  if (typeof v === 'number' && v > markVersion)
    throw formatTooNew({ thing, found: v, known: markVersion });
  if (typeof domain !== 'string' || typeof generation !== 'number' || typeof holder !== 'string')
    throw stateCorrupt({ thing, reason: 'a member is missing' });
  return { domain, generation, holder };
}
