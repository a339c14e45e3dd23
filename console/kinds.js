/** What a node is, by its labels, and the colour in which it is drawn. */
import { clock } from './format.js';

/** The telling labels first: a node is the first of these that it has.
 * @type {readonly { label: string, light: string, dark: string }[]}
 */
const kinds = [
  { label: 'Session', light: '#0a6485', dark: '#63c1de' },
  { label: 'OrchestratorRun', light: '#6b3fa0', dark: '#b794f0' },
  { label: 'Iteration', light: '#8a5a00', dark: '#e6b655' },
  { label: 'ToolCall', light: '#17693f', dark: '#5fcb93' },
  { label: 'Delegation', light: '#a6336b', dark: '#f08fbf' },
  { label: 'Prompt', light: '#2f55b5', dark: '#8fb0ff' },
  { label: 'ContentBlock', light: '#75716a', dark: '#b5b0a6' },
  { label: 'Agent', light: '#b0480f', dark: '#ff9e64' },
  { label: 'Orchestrator', light: '#b0480f', dark: '#ff9e64' },
  { label: 'Recipe', light: '#b0480f', dark: '#ff9e64' },
  { label: 'RecipeRun', light: '#5d7200', dark: '#bcd35f' },
  { label: 'RecipeStep', light: '#5d7200', dark: '#bcd35f' },
  { label: 'SkillLoad', light: '#00736b', dark: '#5fd1c8' },
  { label: 'ContextCompaction', light: '#a92318', dark: '#ff8b7e' },
  { label: 'Cancellation', light: '#a92318', dark: '#ff8b7e' },
  { label: 'MountPlan', light: '#75716a', dark: '#b5b0a6' },
  { label: 'Event', light: '#8d979f', dark: '#74808b' },
];

const other = { label: 'Node', light: '#8d979f', dark: '#74808b' };

/** @param {readonly string[]} labels */
export function kindOf(labels) {
  return kinds.find(({ label }) => labels.includes(label)) ?? other;
}

/** @param {{ light: string, dark: string }} kind */
export function colorOf(kind) {
  return isDark() ? kind.dark : kind.light;
}

export function isDark() {
  return getComputedStyle(document.documentElement).colorScheme === 'dark';
}

const names = [
  'tool_name',
  'agent',
  'name',
  'orchestrator_name',
  'skill_name',
  'recipe_name',
  'step_id',
  'block_type',
  'event_name',
  'model',
  'prompt',
];

const nameLengthMax = 28;

/** The words by which people tell one node from another; its kind is told beside it.
 * @param {{ id: string, labels: readonly string[], properties: Record<string, any> }} node
 */
export function nameOf({ id, labels, properties }) {
  const kind = kindOf(labels).label;
  if (kind === 'Session') return sessionName(String(properties['session_id'] ?? id), properties);
  if (kind === 'Iteration' && properties['iteration_number'] !== undefined)
    return `iteration ${properties['iteration_number']}`;
  const began = properties['started_at'] ?? properties['occurred_at'];
  const atTime = began === undefined ? undefined : clock(began).slice(0, 8);
  // All runs of a session have the name of its orchestrator.
  if (kind === 'OrchestratorRun' && atTime !== undefined) return `run ${atTime}`;
  const told = kind === 'Event' ? ['event_name', ...names] : names;
  const name = told
    .map((one) => properties[one])
    .find((value) => typeof value === 'string' && value !== '');
  const text = name ?? (atTime === undefined ? id.replace(/^.*::/s, '') : `${kind} ${atTime}`);
  return text.length > nameLengthMax ? `${text.slice(0, nameLengthMax - 1)}…` : text;
}

/**
 * Ids of children begin with that of their parent: their agent, or the end of the id, tells them apart.
 *
 * @param {string} session
 * @param {Record<string, any>} properties
 */
function sessionName(session, { parent_id: parent, agent }) {
  if (typeof agent === 'string' && agent !== '') return agent;
  const own =
    typeof parent === 'string' && session.startsWith(parent) ? session.slice(parent.length) : '';
  const text = own.replace(/^\W+/, '');
  if (text !== '') return text.length > 20 ? `${text.slice(0, 19)}…` : text;
  return `session ${session.length > 12 ? `${session.slice(0, 8)}…` : session}`;
}

/** The kinds whose names tell most of a picture: first they get room.
 * @type {readonly string[]}
 */
const named = ['Session', 'Delegation', 'Agent', 'Prompt', 'OrchestratorRun', 'ToolCall'];

/** @param {string} kind */
export function nameRank(kind) {
  const at = named.indexOf(kind);
  return at === -1 ? (kind === 'Event' ? named.length + 1 : named.length) : at;
}
