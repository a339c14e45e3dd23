import { isMap, isScalar, isSeq, parseDocument, type Node } from 'yaml';
import type { ConfigProblem } from './errors.ts';

/** Settings of `millrace.yaml` by dotted key, as text, as a person could have written them in the environment too. */
export interface FileSettings {
  readonly settings: ReadonlyMap<string, string>;
  readonly problems: readonly ConfigProblem[];
}

const depthMax = 8;

/** Pure: the text is handed in. `queue: { fsync: none }` and `queue.fsync: none` say the same. */
export function readConfigText(path: string, text: string): FileSettings {
  const settings = new Map<string, string>();
  const problems: ConfigProblem[] = [];
  const document = parseDocument(text, { uniqueKeys: true, stringKeys: true });
  for (const error of document.errors)
    problems.push({ key: 'the file', origin: path, problem: error.message.split('\n')[0] ?? '' });
  const fail = (key: string, problem: string): void => {
    problems.push({ key, origin: path, problem });
  };
  if (problems.length === 0 && document.contents !== null)
    walk(document.contents, [], { settings, fail });
  return { settings, problems };
}

interface Walk {
  readonly settings: Map<string, string>;
  readonly fail: (key: string, problem: string) => void;
}

function walk(node: Node, names: readonly string[], into: Walk): void {
  const key = names.join('.');
  if (isMap(node)) {
    if (names.length >= depthMax) return into.fail(key, `nests deeper than ${depthMax} levels`);
    for (const { key: name, value } of node.items) {
      const path = [...names, String(isScalar(name) ? name.value : name)];
      if (value === null) into.fail(path.join('.'), 'has no value: leave the key out or give one');
      else walk(value as Node, path, into);
    }
    return;
  }
  if (names.length === 0) return into.fail('the file', 'must be a mapping of keys to values');
  const text = isSeq(node) ? sequenceText(node.toJSON()) : scalarText(node);
  if (text === undefined)
    into.fail(key, 'must be a text, a number, true, false or a list of texts');
  else if (into.settings.has(key)) into.fail(key, 'is given twice');
  else into.settings.set(key, text);
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
