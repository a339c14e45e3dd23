import type { JsonObject } from '#base';
import { describeQuery, namedQueries } from '#graph';

/** A tool as the protocol tells it to an agent. */
export interface AgentTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject & { readonly type: 'object' };
  readonly outputSchema: JsonObject & { readonly type: 'object' };
  readonly annotations: {
    readonly readOnlyHint: true;
    readonly destructiveHint: false;
    readonly idempotentHint: true;
    readonly openWorldHint: false;
  };
}

/** What an agent gets of one question: it pays for every word that it reads. */
export const cypherRowsDefault = 100;
export const cypherRowsMax = 1000;

const readOnly = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

const paging =
  'has_more says that rows were left out: ask again with a narrower question or a higher limit.';

function answerOf(row: JsonObject): JsonObject & { readonly type: 'object' } {
  return {
    type: 'object',
    properties: {
      rows: { type: 'array', items: row },
      has_more: { type: 'boolean', description: 'rows were left out' },
    },
    required: ['rows', 'has_more'],
    additionalProperties: false,
  };
}

const cypherTool: AgentTool = {
  name: 'cypher',
  title: 'Read-only Cypher',
  description:
    `Asks the graph of agent sessions in read-only Cypher; nothing can be written. ${paging} ` +
    'Nodes: Session, OrchestratorRun, Iteration, ToolCall, Prompt, ContentBlock, Delegation, Agent, RecipeRun, RecipeStep, SkillLoad, Event (one per event, ' +
    'with event_name and occurred_at). Every node has node_id and workspace. Edges: (Session)-[:HAS_EVENT]->(Event), (Session)-[:HAS_EXECUTION]->' +
    '(OrchestratorRun)-[:HAS_PART]->(Iteration)-[:HAS_TOOL_CALL]->(ToolCall), (Session)-[:HAS_SUBSESSION|FORKED]->(Session), (Session)-[:HAS_AGENT]->(Agent), ' +
    '(x)-[:SOURCED_FROM]->(Event). ToolCall has tool_name, result_success, started_at, ended_at; Iteration has model, usage_input, usage_output. ' +
    'Begin a match with a label, or with {session_id: $id} or {node_id: $id}.',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', minLength: 1, description: 'the query; use $name for parameters' },
      parameters: { type: 'object', description: 'values of the parameters' },
      workspace: {
        anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
        description: 'only these workspaces',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: cypherRowsMax,
        default: cypherRowsDefault,
        description: 'rows at most',
      },
      timeout_ms: {
        type: 'integer',
        minimum: 1,
        maximum: 30_000,
        default: 5000,
        description: 'the query is stopped after this time',
      },
    },
    required: ['query'],
    additionalProperties: false,
  },
  outputSchema: answerOf({ type: 'object' }),
  annotations: readOnly,
};

/** Every named query, and Cypher. Pure: what the daemon can answer is the same in all daemons of this version. */
export const agentTools: readonly AgentTool[] = [
  ...namedQueries.map((query): AgentTool => {
    const { name, tells, parameters, row } = describeQuery(query);
    return {
      name,
      title: name,
      description: `${tells}. ${paging}`,
      inputSchema: { ...parameters, type: 'object' },
      outputSchema: answerOf(row),
      annotations: readOnly,
    };
  }),
  cypherTool,
];
