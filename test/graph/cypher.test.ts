import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMillraceError, systemClock } from '#base';
import { aggregateNames } from '../../src/graph/cypher/walk-tree.ts';
import { functions } from '../../src/graph/cypher/functions.ts';
import { CypherRunner, type GraphView } from '../../src/graph/cypher/index.ts';
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

const values: readonly (readonly [expression: string, value: unknown])[] = [
  ['5 / 2', 2],
  ['5 / 2.0', 2.5],
  ['-7 % 3', -1],
  ['2 ^ 3', 8],
  ['1 + 2 * 3 - 4', 3],
  ['1--1', 2],
  ['9223372036854775807', '9223372036854775807'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['0xff + 0o17', 270],
  ['1.5e2', 150],
  ["'a' + 1 + true", 'a1true'],
  ["'a\\u00e9\\n'", 'aé\n'],
  ['[1, 2] + 3 + [4]', [1, 2, 3, 4]],
  ['null + 1', null],
  ['null = null', null],
  ['null <> 1', null],
  ['1 = 1.0', true],
  ["1 = '1'", false],
  ['[1, null] = [1, null]', null],
  ['[1, 2] = [1]', false],
  ['{a: 1} = {a: 1}', true],
  ["1 < 'a'", null],
  ["'a' < 'b' < 'c'", true],
  ['true OR null', true],
  ['false OR null', null],
  ['false AND null', false],
  ['true XOR null', null],
  ['NOT null', null],
  ['2 IN [1, 2]', true],
  ['3 IN [1, null]', null],
  ['3 IN []', false],
  ["'abc' STARTS WITH 'a' AND 'abc' ENDS WITH 'c' AND 'abc' CONTAINS 'b'", true],
  ["'abc' CONTAINS null", null],
  ["'abc' =~ 'a.c'", true],
  ["'ABC' =~ '(?i)abc'", true],
  ['null IS NULL', true],
  ['1 IS NOT NULL', true],
  ['[1, 2, 3][-1]', 3],
  ['[1, 2, 3][5]', null],
  ['[1, 2, 3, 4][1..3]', [2, 3]],
  ['[1, 2, 3][..-1]', [1, 2]],
  ["{a: 1}.a + {a: 1}['a']", 2],
  ['{a: 1}.b', null],
  ['[x IN range(1, 5) WHERE x % 2 = 1 | x * x]', [1, 9, 25]],
  ['[x IN [1, 2]]', [1, 2]],
  ['all(x IN [1, 2] WHERE x > 0)', true],
  ['any(x IN [null] WHERE x > 0)', null],
  ['none(x IN [] WHERE true)', true],
  ['single(x IN [1, 2] WHERE x = 1)', true],
  ["reduce(s = '', x IN ['a', 'b'] | s + x)", 'ab'],
  ['CASE 2 WHEN 1 THEN "a" WHEN 2 THEN "b" END', 'b'],
  ['CASE WHEN false THEN 1 ELSE 2 END', 2],
  ['CASE WHEN null THEN 1 END', null],
  ['coalesce(null, 1, 2)', 1],
  ['size([1, 2]) + size("é👍")', 4],
  ['head([]) IS NULL', true],
  ['last([1, 2])', 2],
  ['tail([1, 2])', [2]],
  ['reverse([1, 2])', [2, 1]],
  ['range(5, 1, -2)', [5, 3, 1]],
  ["split('a,b', ',')", ['a', 'b']],
  ["substring('hello', 1, 3)", 'ell'],
  ["left('abc', 2) + right('abc', 1)", 'abc'],
  ["replace('a.a', '.', '$&')", 'a$&a'],
  ["toInteger('42') + toInteger('x') IS NULL", true],
  ["toInteger('42.9')", 42],
  ['toString(1.0)', '1.0'],
  ["toBoolean('TRUE')", true],
  ['abs(-3)', 3],
  ['round(2.5)', 3],
  ["date('2026-02-03').month", 2],
  ["datetime('2026-02-03T04:05:06.7+01:00')", '2026-02-03T03:05:06.700000000Z'],
  ["datetime('2026-01-02') < datetime('2026-01-03')", true],
  ['keys({b: 1, a: 2})', ['b', 'a']],
  ['$list[1]', 'b'],
  ['$map.a', 1],
  ['size($list)', 2],
];

describe('Cypher values', () => {
  for (const [expression, value] of values)
    it(expression, () => {
      expect(valueOf(expression, { list: ['a', 'b'], map: { a: 1 } })).toEqual(value);
    });
});

describe('Cypher rows', () => {
  const table: readonly (readonly [text: string, rows: unknown])[] = [
    ['UNWIND [3, 1, 2] AS x RETURN x ORDER BY x', [[1], [2], [3]]],
    ['UNWIND [3, 1, 2] AS x RETURN x ORDER BY -x SKIP 1 LIMIT 1', [[2]]],
    [
      'UNWIND [1, null, "a", true, 2.5] AS x RETURN x ORDER BY x',
      [['a'], [true], [1], [2.5], [null]],
    ],
    ['UNWIND [1, 1.0, 2] AS x RETURN DISTINCT x', [[1], [2]]],
    [
      'UNWIND [] AS x RETURN count(*), sum(x), collect(x), max(x), avg(x)',
      [[0, 0, [], null, null]],
    ],
    ['UNWIND [] AS x RETURN x, count(*)', []],
    [
      'UNWIND [1, 2, null] AS x RETURN count(x), count(*), sum(x), min(x), avg(x)',
      [[2, 3, 3, 1, 1.5]],
    ],
    ['UNWIND [1, 1, 2] AS x RETURN count(DISTINCT x), collect(DISTINCT x)', [[2, [1, 2]]]],
    [
      'UNWIND [[1, 2], [1, 3], [2, 4]] AS p RETURN p[0] AS k, sum(p[1]) AS s ORDER BY s',
      [
        [2, 4],
        [1, 5],
      ],
    ],
    [
      'UNWIND [1, 2] AS x RETURN x % 2 AS odd, count(*) + 1 AS n ORDER BY odd',
      [
        [0, 2],
        [1, 2],
      ],
    ],
    [
      'UNWIND [1, 2, 3, 4] AS x RETURN percentileDisc(x, 0.5), percentileCont(x, 0.5), stDevP(x) > 1.1',
      [[2, 2.5, true]],
    ],
    ['UNWIND [1, 2, 3] AS x WITH x WHERE x > 1 WITH sum(x) AS s RETURN s, s * 2 AS d', [[5, 10]]],
    ['WITH 1 AS a, 2 AS b RETURN *', [[1, 2]]],
    ['WITH 1 AS a WITH *, 2 AS b RETURN a + b', [[3]]],
    [
      'UNWIND [1, 2] AS x CALL { WITH x UNWIND range(1, x) AS y RETURN sum(y) AS s } RETURN x, s',
      [
        [1, 1],
        [2, 3],
      ],
    ],
    ['UNWIND [1, 2] AS x CALL (x) { RETURN x * 10 AS t } RETURN t', [[10], [20]]],
    ['RETURN COLLECT { UNWIND [1, 2] AS x RETURN x * 2 } AS l', [[[2, 4]]]],
    [
      'RETURN COUNT { UNWIND [1, 2] AS x RETURN x } AS n, EXISTS { UNWIND [] AS x RETURN x } AS e',
      [[2, false]],
    ],
    ['RETURN 1 AS a UNION RETURN 1 AS a UNION RETURN 2 AS a', [[1], [2]]],
    [
      'RETURN 1 AS a, 2 AS b UNION ALL RETURN 3 AS b, 4 AS a',
      [
        [1, 2],
        [4, 3],
      ],
    ],
    ['OPTIONAL MATCH (n:Nobody) RETURN n, n.name, labels(n)', [[null, null, null]]],
    ['MATCH (n) RETURN count(n)', [[0]]],
    ['RETURN 1 AS x LIMIT 0', []],
    ['RETURN 1 AS `a b`;', [[1]]],
    ['/* all */ RETURN 1 // one', [[1]]],
  ];
  for (const [text, rows] of table)
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
      'MATCH (n) RETURN [(n)-->(m) | m.a]',
      'CYPHER_UNSUPPORTED: line 1, column 18: a pattern compr',
    ],
    ['MATCH ((a)-->(b)){1,3} RETURN a', 'CYPHER_UNSUPPORTED: line 1, column 7: a quantified path'],
    ['UNWIND range(1, 20000) AS x RETURN x ORDER BY x', 'QUERY_TOO_LARGE'],
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

describe('docs/cypher.md', () => {
  const text = readText('docs/cypher.md');

  it('names every function, and no other', () => {
    const section = text.slice(text.indexOf('## Functions'), text.indexOf('## What is refused'));
    const named = [...section.matchAll(/`([a-zA-Z_0-9]+)`/g)].map(([, name]) =>
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
