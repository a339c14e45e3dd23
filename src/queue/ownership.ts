import { anonymousPrincipal } from '#record';
import type { AppendInput } from './backend.ts';

/**
 * Who owns a key once a record of `principal` is in it (ING-915): the first writer that has proved who it is. Null: nobody yet, because all that
 * wrote were anonymous. Pure.
 */
export function ownerAfter(owner: string | null, principal: string): string | null {
  if (!isNobody(owner)) return owner;
  return isNobody(principal) ? null : principal;
}

/** The key belongs to somebody else, and the sender may not write there all the same. Pure. */
export function isForeign(
  owner: string | null,
  { principal, mayWriteForeign }: Pick<AppendInput, 'principal' | 'mayWriteForeign'>,
): owner is string {
  return !isNobody(owner) && owner !== principal && mayWriteForeign !== true;
}

/** Requeued records of before there were names have the empty one; roots of version 0.1.0 name the anonymous writer as an owner. */
function isNobody(name: string | null): boolean {
  return name === null || name === '' || name === anonymousPrincipal;
}
