/** Where a text stops being JSON, and why. */
export interface JsonFault {
  /** Index of the first character that does not fit; the text's length when it ends too early. */
  readonly at: number;
  readonly reason: string;
  /** A whole document came before: the text is several documents, not a broken one. */
  readonly isTrailing: boolean;
}

/** What may come next. */
type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | ', or the end';

interface Step {
  /** One past what was taken, or where it went wrong. */
  readonly at: number;
  readonly next?: Expected;
  readonly reason?: string;
}

/**
 * Finds the place for people, once `JSON.parse` has refused; it decides nothing (D10). Undefined for a text that is JSON. Without recursion,
 * so that no nesting can overflow it, and its reasons quote nothing of the text.
 */
export function locateJsonFault(text: string): JsonFault | undefined {
  const open: string[] = [];
  let expected: Expected = 'value';
  let at = skipSpace(text, 0);
  for (;;) {
    if (expected === ', or the end' && open.length === 0) {
      return at === text.length
        ? undefined
        : { at, reason: 'more text follows the JSON document', isTrailing: true };
    }
    const step = stepAt(text, at, expected, open);
    if (step.next === undefined) {
      const reason = step.reason ?? reasonAt(text, step.at, expected);
      return { at: step.at, reason, isTrailing: false };
    }
    expected = step.next;
    at = skipSpace(text, step.at);
  }
}

function stepAt(text: string, at: number, expected: Expected, open: string[]): Step {
  const mark = text[at];
  switch (expected) {
    case ', or the end':
      if (mark === ',') return { at: at + 1, next: open.at(-1) === '{' ? 'name' : 'value' };
      return mark === closing(open) ? close(at, open) : { at };
    case 'name':
      return nameAt(text, at);
    case 'name or }':
      return mark === '}' ? close(at, open) : nameAt(text, at);
    case 'value or ]':
      return mark === ']' ? close(at, open) : valueAt(text, at, open);
    case 'value':
      return valueAt(text, at, open);
  }
}

function closing(open: readonly string[]): string {
  return open.at(-1) === '{' ? '}' : ']';
}

function close(at: number, open: string[]): Step {
  open.pop();
  return { at: at + 1, next: ', or the end' };
}

function nameAt(text: string, at: number): Step {
  if (text[at] !== '"') return { at };
  const name = stringAt(text, at);
  if (name.next === undefined) return name;
  const colon = skipSpace(text, name.at);
  return text[colon] === ':'
    ? { at: colon + 1, next: 'value' }
    : { at: colon, reason: 'a colon is missing after a member name' };
}

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

function valueAt(text: string, at: number, open: string[]): Step {
  const mark = text[at];
  if (mark === '"') return stringAt(text, at);
  if (mark === '{' || mark === '[') {
    open.push(mark);
    return { at: at + 1, next: mark === '{' ? 'name or }' : 'value or ]' };
  }
  for (const word of ['true', 'false', 'null'])
    if (text.startsWith(word, at)) return { at: at + word.length, next: ', or the end' };
  number.lastIndex = at;
  const length = number.exec(text)?.[0].length;
  return length === undefined ? { at } : { at: at + length, next: ', or the end' };
}

function stringAt(text: string, from: number): Step {
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return { at: at + 1, next: ', or the end' };
    if (code < 0x20) return { at, reason: 'a control character stands in a string unescaped' };
    if (code !== 0x5c) continue;
    const escape = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.exec(text.slice(at, at + 6));
    if (escape === null) return { at, reason: 'a backslash begins no escape of JSON' };
    at += escape[0].length - 1;
  }
  return { at: text.length, reason: 'a string is not closed' };
}

function reasonAt(text: string, at: number, expected: Expected): string {
  if (at >= text.length) return 'the document ends too early';
  if (text.charCodeAt(at) === 0xfeff) return 'a byte order mark is not JSON';
  return expected === ', or the end'
    ? 'a comma or a closing bracket must stand here'
    : `a ${expected} must stand here`;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}
