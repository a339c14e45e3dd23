import { pageTokenInvalid } from './errors.ts';

/** Rows that a list which is paged by their number can leave behind: what a store sorts for one page. */
const offsetMax = 500_000;

/** Token of a list that is paged by number of rows: 0 without one. PAGE_TOKEN_INVALID for what no answer of ours held. */
export function readOffset(token: string | undefined): number {
  if (token === undefined) return 0;
  if (!/^[1-9][0-9]{0,5}$/.test(token) || Number(token) > offsetMax)
    throw pageTokenInvalid({ reason: 'it is not one of this list' });
  return Number(token);
}
