import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMillraceError, systemClock } from '#base';
import { checkCypher, CypherRunner, type GraphView } from '../../src/graph/cypher/index.ts';
import { memoryView } from '../../src/graph/memory/memory-view.ts';
import { renderCypher, workspacesParameter } from '../../src/graph/neo4j/render-cypher.ts';
import type { EdgeState, NodeState } from '../../src/graph/node-state.ts';

const limits = { rows: 5_000, bytes: 10_000_000, timeMs: 5_000, held: 100_000 };
const runner = new CypherRunner(systemClock);

/** The same small graph in three workspaces, as Neo4j holds it: each node with the label of all nodes. */
function content(): Parameters<typeof memoryView>[0] {
  const nodes = new Map<string, NodeState>();
  const edges = new Map<
    string,
    { workspace: string; from: string; type: string; to: string; state: EdgeState }
  >();
  for (const workspace of ['u', 'v', 'w']) {
    for (const [id, label] of [
      ['a', 'A'],
      ['b', 'B'],
      ['c', 'A'],
    ] as const)
      nodes.set(`${workspace}\u0000${id}`, {
        owner: 's',
        isWritten: true,
        labels: new Map([
          ['Node', 2],
          [label, 2],
        ]),
        properties: { x: `${workspace}-${id}`, k: id },
        derived: {},
      });
    for (const [from, to] of [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'a'],
    ] as const)
      edges.set(`${workspace}${from}${to}`, {
        workspace,
        from,
        type: 'T',
        to,
        state: { properties: {}, occurredAt: undefined },
      });
  }
  return { nodes, edges };
}

const all = memoryView(content(), undefined);
const some = memoryView(content(), ['v', 'w']);

const variables = fc.constantFrom('n', 'm', 'k', 'r');
const node = fc
  .tuple(
    fc.option(variables, { nil: '' }),
    fc.constantFrom('', ':A', ':B', ':A|B', ' {k: "a"}', ' WHERE 1 = 1'),
  )
  .map(([name, rest]) => `(${name}${name === '' && rest.startsWith(' WHERE') ? '' : rest})`);
const path = fc
  .tuple(
    node,
    fc.array(fc.tuple(fc.constantFrom('-->', '<--', '--', '-[:T*1..2]->'), node), { maxLength: 2 }),
  )
  .map(([first, steps]) => `${first}${steps.map((step) => step.join('')).join('')}`);
const condition = fc.oneof(
  path.map((one) => `EXISTS { ${one} }`),
  path.map((one) => `COUNT { ${one} } > 1`),
  path.map((one) => `EXISTS { MATCH ${one} RETURN 1 AS one }`),
  variables.map((name) => `${name}.k = "a"`),
  variables.map((name) => `any(q IN [${name}] WHERE EXISTS { (q)-->(z) })`),
);
const where = fc.option(
  condition.map((one) => ` WHERE ${one}`),
  { nil: '' },
);
const match = fc
  .tuple(
    fc.constantFrom('MATCH', 'OPTIONAL MATCH'),
    fc.array(path, { minLength: 1, maxLength: 2 }),
    where,
  )
  .map(([word, paths, test]) => `${word} ${paths.join(', ')}${test}`);
const clause = fc.oneof(
  { weight: 4, arbitrary: match },
  fc
    .tuple(fc.constantFrom('', 'DISTINCT '), variables, variables, where)
    .map(([distinct, from, to, test]) => `WITH ${distinct}${from} AS ${to}${test}`),
  fc.tuple(variables, where).map(([name, test]) => `WITH ${name}, count(*) AS total${test}`),
  match.map((one) => `CALL { ${one} RETURN n AS found }`),
  fc
    .tuple(variables, match)
    .map(([name, one]) => `CALL (${name}) { ${one} RETURN ${name}.x AS told }`),
  variables.map((name) => `UNWIND [${name}] AS u`),
);
const ending = fc.oneof(
  fc.constant('RETURN *'),
  variables.map((name) => `RETURN ${name}.x AS x ORDER BY ${name}.x`),
  path.map((one) => `RETURN COLLECT { MATCH ${one} RETURN 1 AS y } AS list`),
  fc
    .tuple(variables, path)
    .map(([name, one]) => `RETURN DISTINCT ${name}.k AS k ORDER BY EXISTS { ${one} }`),
);
const queries = fc
  .tuple(fc.array(clause, { minLength: 1, maxLength: 3 }), ending)
  .map(([clauses, end]) => [...clauses, end].join(' '));

function rowsOf(
  view: GraphView,
  text: string,
  parameters: Readonly<Record<string, unknown>>,
): readonly string[] {
  const { rows } = runner.run(view, { text, parameters }, limits);
  return rows.map((row) => JSON.stringify(row)).toSorted();
}

describe('Cypher for Neo4j within workspaces', () => {
  it('finds over all workspaces what the query as it was asked finds over those of its caller', () => {
    let tried = 0;
    fc.assert(
      fc.property(queries, (text) => {
        let expected: readonly string[];
        try {
          checkCypher(text);
          expected = rowsOf(some, text, {});
        } catch (error) {
          if (isMillraceError(error)) return;
          throw error;
        }
        tried += 1;
        const { query, compiled } = checkCypher(text);
        const columns = compiled.columns ?? [];
        const made = renderCypher(query, { source: text, columns, isScoped: true });
        const parameters = { ...made.literals, [workspacesParameter]: ['v', 'w'] };
        expect(rowsOf(all, made.text, parameters), `${text}\n${made.text}`).toEqual(expected);
      }),
      { numRuns: 1_500 },
    );
    expect(tried).toBeGreaterThan(100);
  });
});
