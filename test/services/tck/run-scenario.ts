import { isMillraceError, systemClock } from '#base';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CypherRunner } from '../../../src/graph/cypher/index.ts';
import { parseExpression, parseMap } from '../../../src/graph/cypher/parse-expression.ts';
import { parseQueryBody } from '../../../src/graph/cypher/parse-query.ts';
import { TokenReader } from '../../../src/graph/cypher/token-reader.ts';
import { jsonOf } from '../../../src/graph/cypher/values.ts';
import { answeredText, expectedText } from './expected-text.ts';
import { literal, MadeGraph, NotMade } from './make-graph.ts';
import type { Expected, Scenario } from './read-features.ts';

/**
 * `foreign`: it needs writes, procedures or a setup that is no plain CREATE, so it says nothing of a reader of graphs. `refused`: our parser names
 * what it does not take (CYPHER_UNSUPPORTED).
 */
export type Outcome = 'passed' | 'failed' | 'refused' | 'foreign';

export interface ScenarioResult {
  readonly outcome: Outcome;
  readonly why?: string;
}

const limits = { rows: 10_000, bytes: 50_000_000, timeMs: 10_000, held: 200_000 };
const writes = /\b(CREATE|MERGE|SET|DELETE|REMOVE|FOREACH|LOAD|YIELD)\b|\bCALL\s+\w/i;
const runner = new CypherRunner(systemClock);

export function runScenario(scenario: Scenario, graphs: string): ScenarioResult {
  if (scenario.isForeign || writes.test(scenario.query)) return { outcome: 'foreign' };
  const graph = new MadeGraph();
  try {
    if (scenario.graph !== undefined) graph.create(namedGraph(scenario.graph, graphs));
    for (const text of scenario.setup) graph.create(text);
  } catch (error) {
    if (error instanceof NotMade || isMillraceError(error)) return { outcome: 'foreign' };
    throw error;
  }
  return judge(scenario, graph);
}

function judge({ query, parameters, expected }: Scenario, graph: MadeGraph): ScenarioResult {
  try {
    const values = Object.fromEntries(parameters.map(([key, value]) => [key, valueOf(value)]));
    const { columns, rows } = runner.run(graph, { text: query, parameters: values }, limits);
    if (expected.kind === 'error')
      return { outcome: 'failed', why: `no ${expected.type} was raised` };
    return compare(expected, columns, rows);
  } catch (error) {
    if (error instanceof NotMade) return { outcome: 'foreign' };
    if (!isMillraceError(error)) throw error;
    if (expected.kind === 'error') return { outcome: 'passed' };
    if (error.code === 'CYPHER_UNSUPPORTED') return { outcome: 'refused', why: error.message };
    return { outcome: 'failed', why: error.message };
  }
}

function compare(
  expected: Extract<Expected, { kind: 'rows' }>,
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
): ScenarioResult {
  const { isOrdered, ignoresListOrder } = expected;
  const places = expected.columns.map((name) => columns.indexOf(name));
  if (places.includes(-1) && rows.length + expected.rows.length > 0)
    return { outcome: 'failed', why: `columns ${columns.join()}` };
  const text = (one: unknown): string => answeredText(one, ignoresListOrder);
  const answered = rows.map((row) => places.map((place) => text(row[place])).join(' | '));
  const wanted = expected.rows.map((row) =>
    row.map((cell) => expectedText(cell, ignoresListOrder)).join(' | '),
  );
  if (!isOrdered) {
    answered.sort();
    wanted.sort();
  }
  const isEqual = answered.join('\n') === wanted.join('\n');
  if (isEqual) return { outcome: 'passed' };
  return { outcome: 'failed', why: `${answered.join('\n')} is not ${wanted.join('\n')}` };
}

function valueOf(text: string): unknown {
  const grammar = { expression: parseExpression, map: parseMap, query: parseQueryBody };
  return jsonOf(literal(parseExpression(new TokenReader(text, grammar))));
}

function namedGraph(name: string, graphs: string): string {
  return readFileSync(join(graphs, name, `${name}.cypher`), 'utf8');
}
