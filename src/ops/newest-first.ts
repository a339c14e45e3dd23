import { Type, type TOptional, type TInteger, type TString } from 'typebox';

/** Input of a list by number, newest first: `page_token` is the number of the last row of the page before. */
export const newestFirst: { limit: TOptional<TInteger>; page_token: TOptional<TString> } = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  page_token: Type.Optional(
    Type.String({ pattern: '^[1-9][0-9]{0,14}$', description: 'the next_page_token of a page' }),
  ),
};

const limitDefault = 100;

export interface NewestPage {
  readonly limit: number;
  /** Rows below this number; all of them where it is not given. */
  readonly before?: number;
}

export function newestPage(input: {
  readonly limit?: number;
  readonly page_token?: string;
}): NewestPage {
  const { limit = limitDefault, page_token: token } = input;
  return { limit, ...(token === undefined ? {} : { before: Number(token) }) };
}

/** The token behind a page that was full. */
export function tokenBehind<R>(
  rows: readonly R[],
  { limit }: NewestPage,
  numberOf: (row: R) => number,
): { next_page_token?: string } {
  const last = rows.length < limit ? undefined : rows.at(-1);
  return last === undefined ? {} : { next_page_token: String(numberOf(last)) };
}
