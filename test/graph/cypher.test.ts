import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMillraceError, systemClock } from '#base';
import { aggregateNames } from '../../src/graph/cypher/walk-tree.ts';
import { functions } from '../../src/graph/cypher/functions.ts';
import { CypherRunner, type CypherLimits, type GraphView } from '../../src/graph/cypher/index.ts';
import { memoryView } from '../../src/graph/memory/memory-view.ts';
import { cypherParameters, cypherRows, cypherValues } from '../support/cypher-tables.ts';
import { readText } from '../tidy/source-tree.ts';

const nothing: GraphView = {
  nodes: () => [],
  countNodes: () => 0,
  nodesById: () => [],
  neighbours: () => [],
};

const limits = { rows: 100, bytes: 1_000_000, timeMs: 5000, held: 10_000 };

function answer(text: string, parameters: Readonly<Record<string, unknown>> = {}): unknown {
  return new CypherRunner(systemClock).run(nothing, { text, parameters }, limits).rows;
}

/** The one value of an expression. */
function valueOf(expression: string, parameters: Readonly<Record<string, unknown>> = {}): unknown {
  return (answer(`RETURN ${expression} AS x`, parameters) as unknown[][])[0]?.[0];
}

function faultOf(text: string): string {
  try {
    answer(text);
  } catch (error) {
    if (isMillraceError(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'none';
}

describe('Cypher values', () => {
  for (const [expression, value] of cypherValues)
    it(expression, () => {
      expect(valueOf(expression, cypherParameters)).toEqual(value);
    });
});

describe('Cypher rows', () => {
  for (const [text, rows] of cypherRows)
    it(text, () => {
      expect(answer(text)).toEqual(rows);
    });

  it('name a column by what was written', () => {
    const { columns } = new CypherRunner(systemClock).run(
      nothing,
      { text: 'WITH 1 AS n RETURN n, n + 1, count( * ) AS `all`', parameters: {} },
      limits,
    );
    expect(columns).toEqual(['n', 'n + 1', 'all']);
  });
});

describe('Cypher faults', () => {
  const table: readonly (readonly [text: string, fault: string])[] = [
    ['', 'CYPHER_INVALID: line 1, column 1'],
    ['MATCH (n)', 'CYPHER_INVALID: line 1, column 1: a query ends with RETURN'],
    ['RETURN 1 +', 'CYPHER_INVALID: line 1, column 11'],
    ['RETURN\n  n', 'CYPHER_INVALID: line 2, column 3: the variable n is not known here'],
    [
      'RETURN datetime({year: 2026, hour: 4})',
      'CYPHER_INVALID: line 1, column 8: a time of parts has no hour without its month',
    ],
    ["RETURN duration('1 day')", 'CYPHER_INVALID: line 1, column 8: this is no duration'],
    [
      'RETURN datetime({year: 2026, month: 13})',
      'CYPHER_INVALID: line 1, column 8: there is no such',
    ],
    [
      'RETURN date({year: 2026, fortnight: 3})',
      'CYPHER_INVALID: line 1, column 8: a time is not made of fortnight',
    ],
    [
      "RETURN datetime.truncate('fortnight', datetime())",
      'CYPHER_INVALID: line 1, column 8: there is no unit',
    ],
    [
      "RETURN duration('PT1H').fortnights",
      'CYPHER_INVALID: line 1, column 24: a duration has no member fortnights',
    ],
    [
      'MATCH (a)-[a]->(b) RETURN a',
      'CYPHER_INVALID: line 1, column 10: the variable a is bound to a node before',
    ],
    [
      'MATCH (a)-[r]->(r) RETURN a',
      'CYPHER_INVALID: line 1, column 16: the variable r is bound to a relationship before',
    ],
    [
      'WITH 1 AS n MATCH (n) RETURN n',
      'CYPHER_INVALID: line 1, column 19: the variable n is bound to a value before',
    ],
    [
      'MATCH p = (p)-->() RETURN p',
      'CYPHER_INVALID: line 1, column 7: the variable p stands for a part of its own path',
    ],
    ['RETURN foo(1)', 'CYPHER_INVALID: line 1, column 8: there is no function foo()'],
    ['RETURN size()', 'CYPHER_INVALID: line 1, column 8: size() takes 1 arguments'],
    ["RETURN 'a", 'CYPHER_INVALID: line 1, column 8: this string has no end'],
    ['RETURN $p', 'CYPHER_INVALID: line 1, column 8: the parameter $p is not given'],
    ['RETURN 1 / 0', 'CYPHER_INVALID: line 1, column 10: an integer is divided by zero'],
    ["RETURN 1 AND 'a'", 'CYPHER_INVALID: line 1, column 10: a boolean is expected'],
    ['RETURN 9223372036854775807 + 1', 'CYPHER_INVALID: line 1, column 28'],
    ['RETURN 1 AS a, 2 AS a', 'CYPHER_INVALID: line 1, column 16: two columns are named a'],
    ['RETURN 1 AS a UNION RETURN 1 AS b', 'CYPHER_INVALID: line 1, column 1'],
    [
      'MATCH (n) WHERE count(n) > 1 RETURN n',
      'CYPHER_INVALID: line 1, column 17: an aggregate stands',
    ],
    ['MATCH (n) RETURN n.a + count(*)', 'CYPHER_INVALID: line 1, column 18: n stands beside'],
    [
      'MATCH (n) WITH n.a RETURN 1',
      'CYPHER_INVALID: line 1, column 16: in WITH an expression needs a name',
    ],
    ['MATCH (n) RETURN n LIMIT n.a', 'CYPHER_INVALID: line 1, column 26'],
    ['MATCH (n) WHERE (n)-->(m) RETURN n', 'CYPHER_INVALID: line 1, column 23: the variable m'],
    [`RETURN ${'('.repeat(500)}1${')'.repeat(500)}`, 'CYPHER_INVALID: line 1, column'],
    ["RETURN 'aaaaaaaaaaaa' =~ '(a+)+$'", 'CYPHER_INVALID: line 1, column'],
    ['CREATE (n) RETURN n', 'CYPHER_UNSUPPORTED: line 1, column 1: CREATE'],
    ['MATCH (n) DETACH DELETE n', 'CYPHER_UNSUPPORTED: line 1, column 11: DETACH'],
    ['MATCH (n) SET n.a = 1 RETURN n', 'CYPHER_UNSUPPORTED: line 1, column 11: SET'],
    ['MATCH (a)-[*]->(b) RETURN b', 'CYPHER_UNSUPPORTED: line 1, column 12: a path of any length'],
    ['MATCH (a)-[*1..99]->(b) RETURN b', 'CYPHER_UNSUPPORTED: line 1, column 12: a path of 99'],
    [
      'CALL db.labels() YIELD label RETURN label',
      'CYPHER_UNSUPPORTED: line 1, column 1: a procedure',
    ],
    [
      'MATCH (n) RETURN [(n)-->(m) | count(m)]',
      'CYPHER_INVALID: line 1, column 31: no aggregate stands in a pattern comprehension',
    ],
    [
      'MATCH (a)-[:X]->+(b) RETURN b',
      'CYPHER_UNSUPPORTED: line 1, column 17: a path of any length',
    ],
    ['MATCH (a)-->{2,}(b) RETURN b', 'CYPHER_UNSUPPORTED: line 1, column 13: a path of any length'],
    ['MATCH (a)-[*1..2]->{2}(b) RETURN b', 'CYPHER_UNSUPPORTED: line 1, column 20: a quantifier'],
    ['MATCH ((a)-->(b)){1,3} RETURN a', 'CYPHER_UNSUPPORTED: line 1, column 7: a quantified path'],
    ['UNWIND range(1, 20000) AS x RETURN x ORDER BY x', 'QUERY_TOO_LARGE'],
    ["RETURN date('2026-01-01').hour", 'a date has no member hour'],
    ['MATCH (n) RETRUN n', 'a clause (RETURN?) is expected here'],
    ["RETURN datetime('2026-01-01T00:00:00[Europe/Atlantis]')", 'this is no date or time'],
    ["RETURN datetime({year: 2026, timezone: 'Europe/Atlantis'})", 'no time zone Europe/Atlantis'],
    ["RETURN date('2026-W54')", 'this is no date or time'],
    ["UNWIND [1, duration('PT1S')] AS x RETURN sum(x)", 'numbers and durations have no sum'],
    [
      "RETURN localdatetime('2026-01-01T00:00')",
      'CYPHER_UNSUPPORTED: line 1, column 8: localdatetime()',
    ],
    ['RETURN toUper("a")', 'there is no function touper(); did you mean toupper()?'],
    // Of every fault the clause is told in which it lies.
    ['MATCH (n) RETURN n.a + foo(1)', '(in RETURN)'],
    ["MATCH (n) WHERE n.a STARTS WITH 'RETURN' AND b RETURN n", 'b is not known here (in WHERE)'],
    ['OPTIONAL MATCH (n:WITH {limit: b}) RETURN n', 'b is not known here (in OPTIONAL MATCH)'],
    ['MATCH (n) RETURN n.skip ORDER BY b', '(in ORDER BY)'],
    ['WITH 1 AS a /* RETURN */ UNWIND b AS c RETURN c', 'b is not known here (in UNWIND)'],
    ['UNWIND [] AS x RETURN $missing', 'the parameter $missing is not given (in RETURN)'],
  ];
  for (const [text, fault] of table)
    it(text === '' ? 'nothing' : text.slice(0, 60), () => {
      expect(faultOf(text)).toContain(fault);
    });

  it('are the only ones that any text can bring about', () => {
    const words = fc.constantFrom(
      ...'MATCH OPTIONAL WHERE WITH RETURN UNWIND CALL UNION ALL AS DISTINCT ORDER BY SKIP LIMIT AND OR XOR NOT IN IS NULL STARTS ENDS CONTAINS CASE WHEN THEN ELSE END EXISTS COUNT COLLECT'.split(
        ' ',
      ),
      ...'( ) [ ] { } , . : | + - * / % ^ = <> < > <= >= -> <- -- .. =~ ; $p n m count( size( * 1 2.5 \'a\' "b" true null (n) (n:A) -[r]-> -[*1..2]- {a:1} [1,2] x IN'.split(
        ' ',
      ),
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 25 }), (soup) => {
        const text = soup.join(' ');
        expect(faultOf(text)).toMatch(/^(?:none$|CYPHER_|QUERY_)/);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('a query that makes more than can be held', () => {
  const small = { ...limits, cells: 50_000 };
  const run = (text: string, within: CypherLimits = small): unknown => {
    const parameters = { long: 'a'.repeat(2000) };
    return new CypherRunner(systemClock).run(nothing, { text, parameters }, within).rows;
  };

  it.each([
    'RETURN size([x IN range(1, 10000) | range(1, 10000)])',
    'RETURN size([x IN range(1, 10000) | COUNT { UNWIND [1] AS y RETURN y } + size([z IN range(1, 1000) | [z]])])',
    "RETURN size(reduce(s = 'ab', x IN range(1, 60) | s + s))",
    'RETURN size(reduce(l = [1], x IN range(1, 60) | l + l))',
    "RETURN size(replace(replace(replace('aaaaaaaaaa', 'a', $long), 'a', $long), 'a', $long))",
    'UNWIND range(1, 1000) AS x WITH x, range(1, 1000) AS l ORDER BY x RETURN size(l)',
    'UNWIND range(1, 1000) AS x RETURN size(collect(range(1, 1000)))',
    'RETURN [x IN range(1, 10000) | range(1, 1000)[0..100]]',
  ])('%s is stopped by its size', (text) => {
    expect(() => run(text)).toThrow(/holds more than/);
  });

  it('is stopped by its time, also where no row is read', () => {
    const text =
      'RETURN any(x IN range(1, 1000000) WHERE any(y IN range(1, 100000) WHERE x * y = -1))';
    expect(() => run(text, { ...limits, timeMs: 50 })).toThrow(/stopped after 50 ms/);
  });

  it('is none where rows are read one after another and none is kept', () => {
    const text =
      'UNWIND range(1, 400) AS x WITH range(1, 1000) AS l RETURN sum(size(l)), min(size(l))';
    expect(run(text)).toEqual([[400_000, 1000]]);
  });
});

describe('shortest paths', () => {
  it('of very many pairs hold no more than the longest search of one', () => {
    const edges = Array.from({ length: 150 }, (_, at) => ({
      workspace: 'w',
      from: 'middle',
      type: 'X',
      to: `leaf ${at}`,
      state: { properties: {}, occurredAt: undefined },
    }));
    const ids = ['middle', ...edges.map(({ to }) => to)];
    const bare = { owner: 'w', isWritten: true, labels: new Map(), properties: {}, derived: {} };
    const nodes = new Map(ids.map((id) => [`w\u0000${id}`, bare]));
    const view = memoryView(
      { nodes, edges: new Map(edges.map((one) => [one.to, one])) },
      undefined,
    );
    const run = (text: string): unknown =>
      new CypherRunner(systemClock).run(view, { text, parameters: {} }, { ...limits, held: 1000 })
        .rows;
    expect(
      run(
        'MATCH p = shortestPath((a)-[*..4]-(b)) WHERE a <> b RETURN length(p) AS l, count(*) ORDER BY l',
      ),
    ).toEqual([
      [1, 300],
      [2, 150 * 149],
    ]);
    expect(
      run(
        "MATCH (a {node_id: 'leaf 0'}), (b) MATCH p = allShortestPaths((a)-[*..1]-(b)) RETURN b.node_id",
      ),
    ).toEqual([['middle']]);
  });
});

describe('docs/cypher.md', () => {
  const text = readText('docs/cypher.md');

  it('names every function, and no other', () => {
    const section = text.slice(text.indexOf('## Functions'), text.indexOf('## What is refused'));
    const named = [...section.matchAll(/`([a-zA-Z_0-9.]+)`/g)].map(([, name]) =>
      name?.toLowerCase(),
    );
    const known = [...Object.keys(functions), ...aggregateNames, 'node_id'];
    expect([...new Set(named)].toSorted()).toEqual([...new Set(known)].toSorted());
  });

  it('shows a query that runs', () => {
    const query = /```cypher\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
    expect(answer(query)).toEqual([]);
  });
});
