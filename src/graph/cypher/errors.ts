import { defineError, type ErrorFactory, type MillraceError } from '#base';

/** Line and column from 1; a column counts UTF-16 units, as editors do. */
type Fault = Readonly<{ line: number; column: number; reason: string }>;

const invalid: ErrorFactory<Fault> = defineError(
  'CYPHER_INVALID',
  'reject',
  ({ line, column, reason }) => `line ${line}, column ${column}: ${reason}`,
);

const unsupported: ErrorFactory<Fault & Readonly<{ clause: string }>> = defineError(
  'CYPHER_UNSUPPORTED',
  'reject',
  ({ line, column, clause, reason }) =>
    `line ${line}, column ${column}: ${clause} is not part of the Cypher that is read here; ${reason}`,
);

/** The text is no query: a word that may not stand there, a variable that is not known, a value of the wrong kind. */
export function cypherInvalid(text: string, at: number, reason: string): MillraceError {
  return invalid({ ...placeOf(text, at), reason });
}

/** Cypher, but not of the subset (docs/cypher.md); `instead` tells how to say it otherwise. */
export function cypherUnsupported(
  text: string,
  at: number,
  clause: string,
  instead: string,
): MillraceError {
  return unsupported({ ...placeOf(text, at), clause, reason: instead });
}

function placeOf(text: string, at: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  return { line, column: at - (before.lastIndexOf('\n') + 1) + 1 };
}
