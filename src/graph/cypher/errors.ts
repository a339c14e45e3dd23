import { defineError, type ErrorFactory, type MillraceError } from '#base';

/** Line and column from 1; a column counts UTF-16 units, as editors do. */
type Place = Readonly<{ line: number; column: number }>;

const invalid: ErrorFactory<Readonly<{ reason: string; clause?: string }> & Partial<Place>> =
  defineError('CYPHER_INVALID', 'reject', ({ line, column, clause, reason }) => {
    const place = line === undefined ? '' : `line ${line}, column ${column}: `;
    return `${place}${reason}${clause === undefined ? '' : ` (in ${clause})`}`;
  });

const unsupported: ErrorFactory<Place & Readonly<{ clause: string; reason: string }>> = defineError(
  'CYPHER_UNSUPPORTED',
  'reject',
  ({ line, column, clause, reason }) =>
    `line ${line}, column ${column}: ${clause} is not part of the Cypher that is read here; ${reason}`,
);

/** The text is no query: a word that may not stand there, a variable that is not known, a value of the wrong kind. */
export function cypherInvalid(text: string, at: number, reason: string): MillraceError {
  const clause = clauseAt(text, at);
  return invalid({ ...placeOf(text, at), ...(clause === undefined ? {} : { clause }), reason });
}

/** The same where a server has found it and does not say where. */
export function cypherInvalidSomewhere(reason: string): MillraceError {
  return invalid({ reason });
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

function placeOf(text: string, at: number): Place {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  return { line, column: at - (before.lastIndexOf('\n') + 1) + 1 };
}

/** Texts, names in backticks, comments; then words that are no property, label, parameter or key of a map. */
const words =
  /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<![.:$|&!%\w])[A-Za-z_]\w*\b(?!\s*:)/g;

const longestWord = 'OPTIONAL'.length;

const clauses: Readonly<Record<string, string>> = {
  MATCH: 'MATCH',
  OPTIONAL: 'OPTIONAL MATCH',
  WHERE: 'WHERE',
  WITH: 'WITH',
  UNWIND: 'UNWIND',
  CALL: 'CALL',
  RETURN: 'RETURN',
  ORDER: 'ORDER BY',
  SKIP: 'SKIP',
  OFFSET: 'OFFSET',
  LIMIT: 'LIMIT',
  UNION: 'UNION',
};

/** The clause in which a place lies: the one whose first word was read last before it. */
function clauseAt(text: string, at: number): string | undefined {
  let clause: string | undefined;
  let before = '';
  // What follows was not read yet, and may be anything.
  for (const { 0: word, index } of text.slice(0, at + longestWord).matchAll(words)) {
    if (index > at) break;
    const upper = word.toUpperCase();
    const isPartOfOther = upper === 'MATCH' ? before === 'OPTIONAL' : isStartsWith(upper, before);
    if (!isPartOfOther && Object.hasOwn(clauses, upper)) clause = clauses[upper];
    before = upper;
  }
  return clause;
}

/** `STARTS WITH` and `ENDS WITH` are no clauses. */
function isStartsWith(word: string, before: string): boolean {
  return word === 'WITH' && (before === 'STARTS' || before === 'ENDS');
}
