import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** One scenario of the openCypher TCK; an outline gives one for each of its examples. */
export interface Scenario {
  /** Feature and number, like `Match1 [3]` or `Literals2 [5]#2`. */
  readonly name: string;
  /** A graph that comes with the TCK; undefined for an empty one. */
  readonly graph: string | undefined;
  readonly setup: readonly string[];
  readonly parameters: readonly (readonly [name: string, value: string])[];
  readonly query: string;
  readonly expected: Expected;
  /** It has a step that a reader of a graph cannot take: procedures, side effects, a second query. */
  readonly isForeign: boolean;
}

export type Expected =
  | {
      readonly kind: 'rows';
      readonly columns: readonly string[];
      readonly rows: readonly (readonly string[])[];
      readonly isOrdered: boolean;
      readonly ignoresListOrder: boolean;
    }
  | { readonly kind: 'error'; readonly type: string };

interface Step {
  readonly text: string;
  readonly block: string | undefined;
  readonly table: readonly (readonly string[])[];
}

/** All scenarios below a folder of feature files, in the order of their names. */
export function readFeatures(folder: string): readonly Scenario[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.feature'))
    .toSorted();
  return files.flatMap((path) =>
    scenariosOf(basename(path, '.feature'), readFileSync(join(folder, path), 'utf8')),
  );
}

function scenariosOf(feature: string, text: string): readonly Scenario[] {
  const parts = text.split(/^ *(?=Scenario(?: Outline)?:|Background:)/m).slice(1);
  const common = parts.filter((part) => part.startsWith('Background')).flatMap(stepsOf);
  return parts
    .filter((part) => !part.startsWith('Background'))
    .flatMap((part) => {
      const number = /\[(\d+)\]/.exec(part)?.[1] ?? '?';
      const name = `${feature} [${number}]`;
      const [body = '', ...examples] = part.split(/^ *Examples:.*$/m);
      const rows = examples.flatMap((example) => filled(tableOf(example.split('\n'))));
      if (examples.length === 0) return [scenarioOf(name, [...common, ...stepsOf(body)])];
      return rows.map((row, at) =>
        scenarioOf(`${name}#${at + 1}`, [...common, ...stepsOf(substituted(body, row))]),
      );
    });
}

function filled(table: readonly (readonly string[])[]): readonly ReadonlyMap<string, string>[] {
  const [names = [], ...rows] = table;
  return rows.map((row) => new Map(names.map((name, at) => [name, row[at] ?? ''])));
}

function substituted(text: string, row: ReadonlyMap<string, string>): string {
  return [...row].reduce((made, [name, value]) => made.replaceAll(`<${name}>`, () => value), text);
}

function stepsOf(part: string): readonly Step[] {
  const steps: Step[] = [];
  const [, ...lines] = part.split('\n');
  const chunks = lines
    .join('\n')
    .split(/^ *(?=(?:Given|When|Then|And|But) )/m)
    .slice(1);
  for (const chunk of chunks) {
    const block = /"""\n([\s\S]*?)\n *"""/.exec(chunk)?.[1];
    const [text = ''] = chunk.split('\n', 1);
    const rest = chunk
      .replace(/"""[\s\S]*?"""/, '')
      .split('\n')
      .slice(1);
    steps.push({
      text: text.replace(/^\w+ /, '').trim(),
      block,
      table: tableOf(rest),
    });
  }
  return steps;
}

function tableOf(lines: readonly string[]): readonly (readonly string[])[] {
  return lines
    .map((line) => line.trim())
    .filter((line) => line.startsWith('|'))
    .map((line) => cellsOf(line));
}

/** Between bars; a bar of a value is written `\|`. */
function cellsOf(line: string): readonly string[] {
  return line
    .slice(1, line.lastIndexOf('|'))
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|').replaceAll('\\\\', '\\'));
}

function scenarioOf(name: string, steps: readonly Step[]): Scenario {
  const setup: string[] = [];
  const parameters: (readonly [string, string])[] = [];
  let [graph, query]: (string | undefined)[] = [];
  let expected: Expected | undefined;
  let isForeign = false;
  for (const { text, block, table } of steps) {
    const named = /^the ([\w-]+) graph$/.exec(text)?.[1];
    const error = /^an? (\w+) should be raised/.exec(text)?.[1];
    if (text === 'an empty graph' || text === 'any graph' || text === 'no side effects') continue;
    else if (named !== undefined) graph = named;
    else if (text === 'having executed:') setup.push(block ?? '');
    else if (text === 'parameters are:')
      for (const [key = '', value = ''] of table) parameters.push([key, value]);
    else if (text === 'executing query:' && query === undefined) query = block;
    else if (error !== undefined) expected = { kind: 'error', type: error };
    else if (text.startsWith('the result should be')) expected = rowsExpected(text, table);
    else isForeign = true;
  }
  return {
    name,
    graph,
    setup,
    parameters,
    query: query ?? '',
    expected: expected ?? { kind: 'error', type: 'none' },
    isForeign: isForeign || expected === undefined || query === undefined,
  };
}

function rowsExpected(text: string, table: readonly (readonly string[])[]): Expected {
  const [columns = [], ...rows] = table;
  return {
    kind: 'rows',
    columns,
    rows,
    isOrdered: text.includes('in order'),
    ignoresListOrder: text.includes('ignoring element order'),
  };
}
