import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml';
import type { ConfigProblem } from './errors.ts';

/** Settings of `millrace.yaml` by dotted key, as text, as a person could have written them in the environment too. */
export interface FileSettings {
  readonly settings: ReadonlyMap<string, FileSetting>;
  readonly problems: readonly ConfigProblem[];
}

export interface FileSetting {
  readonly text: string;
  /** `FILE:LINE`, the line of the value. */
  readonly origin: string;
}

const depthMax = 8;

/** Pure: the text is handed in. `queue: { fsync: none }` and `queue.fsync: none` say the same. */
export function readConfigText(path: string, text: string): FileSettings {
  const settings = new Map<string, FileSetting>();
  const problems: ConfigProblem[] = [];
  const lines = new LineCounter();
  const document = parseDocument(text, { uniqueKeys: true, stringKeys: true, lineCounter: lines });
  const placeOf = (offset: number | undefined): string =>
    offset === undefined ? path : `${path}:${lines.linePos(offset).line}`;
  for (const error of document.errors)
    problems.push({
      key: 'the file',
      origin: placeOf(error.pos[0]),
      problem: error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? '',
    });
  const into: Walk = { settings, problems, placeOf };
  if (problems.length === 0 && document.contents !== null) walk(document.contents, [], into);
  return { settings, problems };
}

interface Walk {
  readonly settings: Map<string, FileSetting>;
  readonly problems: ConfigProblem[];
  /** Of an offset in the text. */
  placeOf(offset: number | undefined): string;
}

function walk(node: Node, names: readonly string[], into: Walk): void {
  const key = names.join('.');
  const origin = into.placeOf(node.range?.[0]);
  const fail = (at: string, problem: string, place = origin): void => {
    into.problems.push({ key: at, origin: place, problem });
  };
  if (isMap(node)) {
    if (names.length >= depthMax) return fail(key, `nests deeper than ${depthMax} levels`);
    for (const { key: name, value } of node.items) {
      const path = [...names, String(isScalar(name) ? name.value : name)];
      const isEmpty = value === null || (isScalar(value) && value.value === null);
      const place = into.placeOf(isScalar(name) ? name.range?.[0] : undefined);
      if (isEmpty) fail(path.join('.'), 'has no value: leave the key out or give one', place);
      else walk(value as Node, path, into);
    }
    return;
  }
  if (names.length === 0) return fail('the file', 'must be a mapping of keys to values');
  const text = isSeq(node) ? sequenceText(node.toJSON()) : scalarText(node);
  if (text === undefined) fail(key, 'must be a text, a number, true, false or a list of texts');
  else if (into.settings.has(key)) fail(key, 'is given twice');
  else into.settings.set(key, { text, origin });
}

function scalarText(node: Node): string | undefined {
  const value: unknown = isScalar(node) ? node.value : undefined;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

function sequenceText(items: unknown): string | undefined {
  if (!Array.isArray(items)) return undefined;
  return items.every((item) => typeof item === 'string' && !item.includes(','))
    ? items.join(',')
    : undefined;
}
