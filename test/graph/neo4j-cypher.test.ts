import { describe, expect, it } from 'vitest';
import { isMillraceError } from '#base';
import { checkCypher } from '../../src/graph/cypher/index.ts';
import { renderCypher, type RenderedQuery } from '../../src/graph/neo4j/render-cypher.ts';

function rendered(text: string, isScoped = true): RenderedQuery {
  const { query, compiled } = checkCypher(text);
  return renderCypher(query, { source: text, columns: compiled.columns ?? [], isScoped });
}

const scope = /\.workspace IN \$m_workspaces/g;

/** Query, and how many of its patterns begin anew. */
const patterns: readonly (readonly [text: string, conditions: number])[] = [
  ['MATCH (n) RETURN n', 1],
  ['MATCH (a)-[:X]->(b) RETURN b', 1],
  ['MATCH ()-->() RETURN count(*)', 1],
  ['MATCH (a), (b) RETURN a, b', 2],
  ['MATCH (a) MATCH (a)-->(b) RETURN b', 1],
  ['MATCH (a) OPTIONAL MATCH (b) RETURN a, b', 2],
  ['MATCH (a) WHERE EXISTS { (b)-->(c) } RETURN a', 2],
  ['MATCH (a) WHERE (a)-->() RETURN a', 1],
  ['MATCH (a) RETURN COUNT { (a)-->() }', 1],
  ['MATCH (a) RETURN COLLECT { MATCH (b) RETURN b.x }', 2],
  ['MATCH (a) WITH a AS b MATCH (b)-->(c) RETURN c', 1],
  // A name that WITH has left behind is a new one where it stands again.
  ['MATCH (a)-->(c) WITH DISTINCT a WHERE EXISTS { (c)-->() } RETURN a', 2],
  ['MATCH (a)-->(c) WITH a MATCH (c) RETURN c', 2],
  ['MATCH (a) CALL { MATCH (b) RETURN b } RETURN b', 2],
  ['MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN b } RETURN b', 1],
  ['MATCH (a) RETURN a UNION MATCH (a) RETURN a', 2],
  ['MATCH p = shortestPath((a {x: 1})-[*..5]-(b)) RETURN length(p)', 1],
];

describe('Cypher for Neo4j', () => {
  it('looks at the workspace of each pattern that hangs on no other, so that nothing of another is seen', () => {
    for (const [text, count] of patterns) {
      expect(rendered(text).text.match(scope)?.length, text).toBe(count);
      expect(rendered(text, false).text, text).not.toMatch(scope);
    }
  });

  it('asks each node of a pattern for the label of the graph, so that nothing hidden is found', () => {
    for (const [text] of patterns) {
      const made = rendered(text).text;
      const nodes = made.match(/\((?:`[^`]*`)?:Node/g) ?? [];
      const written = text.match(/\((?:[a-c](?: \{x: 1\})?|n|)\)(?!\s*\{)/g) ?? [];
      expect(nodes.length, made).toBeGreaterThanOrEqual(written.length);
    }
  });

  it('lets no text of the caller through: texts are parameters, names stand between backticks', () => {
    const evil = 'x\\u0027}) MATCH (y) RETURN y //';
    const { text, literals } = rendered(
      `MATCH (n {a: 'b'}) WHERE n.c = "${evil.replaceAll('\\', '\\\\')}" RETURN n`,
    );
    expect(text).not.toContain('MATCH (y)');
    expect(Object.values(literals)).toEqual(['b', evil]);
    expect(rendered('MATCH (`a``b`:`C D`) RETURN `a``b`').text).toContain('(`a``b`:Node&`C D`)');
  });

  it('refuses a name that could end itself, with its place', () => {
    for (const text of [
      'MATCH (`a\\u0060`) RETURN 1',
      'MATCH (n:`A\\u0060`) RETURN 1',
      'RETURN 1 AS `\\u0060`',
      'MATCH (n) RETURN n.`\\u0060`',
      'RETURN {`\\u0060`: 1} AS m',
      'RETURN $`\\u0060` AS p',
    ])
      expect(codeOf(text), text).toMatch(/^(CYPHER_UNSUPPORTED|none$)/);
    expect(codeOf('MATCH (`a\\u0060`) RETURN 1')).toBe('CYPHER_UNSUPPORTED');
  });

  it('shows the label of the graph and what is hidden to nobody', () => {
    expect(rendered('MATCH (n:Node) RETURN n').text).toContain('&`Node `');
    expect(rendered('MATCH (n) RETURN n._millrace AS x').text).toContain('`n`.`_millrace `');
    expect(rendered('MATCH (n) RETURN labels(n) AS l').text).toContain("<> 'Node'");
  });

  it('writes * out, so that names of ours are not among the columns', () => {
    expect(rendered('MATCH (b)-->(), (a) RETURN *').text).toMatch(/RETURN `a`, `b`$/);
  });

  it('calls a column by a name that the server takes', () => {
    const { text, columns } = rendered('RETURN 1 + 1, "a\\\\b"');
    expect(columns).toEqual(['  c0', '  c1']);
    expect(text).toBe('RETURN (1 + 1) AS `  c0`, $m_0 AS `  c1`');
  });
});

function codeOf(text: string): string {
  try {
    const { text: made } = rendered(text);
    expect(made).not.toContain('\\');
    return 'none';
  } catch (error) {
    if (isMillraceError(error)) return error.code;
    throw error;
  }
}
