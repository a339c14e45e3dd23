import { facts, plainText, resultTable } from '../print.ts';
import {
  count,
  jsonParameters,
  rowsOf,
  textParameters,
  type Row,
  type VerbCommand,
} from '../verbs/verb-command.ts';

/** What is asked of the graph, and done to it. */
export const graphCommands: readonly VerbCommand[] = [
  {
    verb: ([name]) => (name === undefined ? 'queries list' : 'graph query'),
    words: 'graph query [name] [parameters...]',
    summary:
      'a named query: sessions, session-tree, tool-calls, files-touched, errors, timeline, token-usage; without a name, what each takes',
    options: [
      [
        '-p, --parameter <name=value...>',
        'a parameter of the query, such as session=ID or workspace=NAME; also behind the name',
      ],
    ],
    examples: [
      'millrace graph query',
      'millrace graph query tool-calls',
      'millrace graph query session-tree session=s1 workspace=demo',
      'millrace graph query timeline -p session=s1 -p limit=50',
    ],
    input: (options, [name, ...pairs]) => {
      if (name === undefined) return {};
      const named = (options['parameter'] ?? []) as readonly string[];
      return { name, parameters: textParameters([...named, ...pairs]) };
    },
    render: (answer) => {
      if (answer['queries'] !== undefined) return queryList(answer['queries'] as readonly Row[]);
      const rows = (answer['rows'] ?? []) as readonly (readonly unknown[])[];
      if (rows.length === 0) return 'no rows';
      const text = resultTable((answer['columns'] ?? []) as readonly string[], rows);
      return answer['has_more'] === true ? `${text}\nmore rows: give a higher limit=N` : text;
    },
  },
  {
    verb: 'graph cypher',
    words: 'graph cypher <query>',
    summary: 'a read-only Cypher query (docs/cypher.md)',
    options: [
      ['-p, --parameter <name=value...>', 'a parameter of the query: $name; JSON where it is JSON'],
      ['--workspace <name>', 'only this workspace'],
      ['--limit <n>', 'rows (1 to 10000; 1000 unless given)'],
    ],
    examples: [
      'millrace graph cypher "MATCH (t:ToolCall) RETURN t.tool_name AS tool, count(*) AS calls ORDER BY calls DESC"',
      'millrace graph cypher "MATCH (s:Session {session_id: $id})-[:HAS_EVENT]->(e) RETURN e.event_name" -p id=s1',
    ],
    input: (options, args) => ({
      query: args[0],
      parameters: jsonParameters(options['parameter']),
      ...(options['workspace'] === undefined ? {} : { workspace: options['workspace'] }),
      ...(options['limit'] === undefined ? {} : { limit: count(plainText(options['limit'])) }),
    }),
    render: (answer) => {
      const rows = (answer['rows'] ?? []) as readonly (readonly unknown[])[];
      if (rows.length === 0) return 'no rows';
      const text = resultTable((answer['columns'] ?? []) as readonly string[], rows);
      return answer['has_more'] === true ? `${text}\nmore rows: give a higher --limit` : text;
    },
  },
  {
    verb: 'graph digest',
    words: 'graph digest',
    summary: 'SHA-256 of the canonical graph: same events, same digest',
    examples: ['millrace graph digest --json'],
    render: (answer) => facts(answer),
  },
  {
    verb: 'graph stats',
    words: 'graph stats',
    summary: 'how many nodes and edges, by label and type',
    examples: ['millrace graph stats'],
    render: (answer) => facts(answer),
  },
  {
    verb: 'graph check',
    words: 'graph check',
    summary: 'one owner for each node, no edge without an end; 1 when something is found',
    examples: ['millrace graph check'],
    hasFindings: (answer) => (answer['findings'] as readonly unknown[]).length > 0,
    render: ({ findings, ...counts }) => {
      const list = rowsOf({ findings }, 'findings', ['rule', 'workspace', 'id', 'tells']);
      return `${facts(counts)}\n\nFindings\n${list}`;
    },
  },
  {
    verb: 'graph adopt',
    words: 'graph adopt [key]',
    summary:
      'make queue and graph know each other again, after one of them was exchanged; without --yes it only shows what it would do',
    options: [
      ['--dry-run', 'only show what it would do, also with --yes'],
      ['--yes', 'really adopt'],
    ],
    isDestructive: true,
    hasDryRun: true,
    examples: [
      'millrace graph adopt',
      'millrace graph adopt --yes',
      'millrace graph adopt KEY --yes',
    ],
    input: (options, args) => ({
      key: args[0],
      dry_run: options['yes'] !== true || options['dryRun'] === true,
    }),
    render: (answer) => facts(answer),
  },
];

/** Each query with what it takes; those that must be given first. */
function queryList(queries: readonly Row[]): string {
  const rows = queries.map(({ name, tells, parameters }) => {
    const { properties = {}, required = [] } = parameters as {
      readonly properties?: Row;
      readonly required?: readonly string[];
    };
    const others = Object.keys(properties).filter((one) => !required.includes(one));
    const given = [...required.map((one) => `${one}=…`), ...others.map((one) => `[${one}=…]`)];
    return { query: name, parameters: given.join(' '), tells };
  });
  return rowsOf({ rows }, 'rows', ['query', 'parameters', 'tells']);
}
