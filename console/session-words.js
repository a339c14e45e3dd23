/** How a session is told on several pages. */
import { part } from './api.js';
import { h } from './dom.js';
import { pill } from './parts.js';

/** @param {any} row with `workspace` and `session_id` */
export function sessionLink({ workspace, session_id: id }) {
  return h('a.mono', { href: sessionAddress(workspace, id) }, id);
}

/**
 * @param {string} workspace
 * @param {string} id
 * @param {string} [tab]
 */
export function sessionAddress(workspace, id, tab = 'timeline') {
  return `#/session/${part(workspace)}/${part(id)}/${tab}`;
}

/** What an operator has to know first.
 * @param {any} row
 */
export function stateOf(row) {
  const pills = [];
  if (row.quarantine !== null) pills.push(pill('bad', 'quarantined', row.quarantine.message));
  if (row.dead > 0) pills.push(pill('bad', `${row.dead} dead`));
  if (row.error !== null && row.quarantine === null)
    pills.push(pill('warn', row.error.code, row.error.message));
  if (row.pending > 0) pills.push(pill('info', `${row.pending} pending`));
  const status = row.graph?.status;
  if (status) pills.push(pill(status === 'running' ? 'info' : 'plain', status));
  if (row.finalised && status !== 'completed')
    pills.push(pill('plain', 'ended', 'Its log is gone; the next event begins a new epoch'));
  if (pills.length === 0) pills.push(pill('ok', 'applied'));
  return h('div.pills', null, pills);
}

/** The id of a session from that of its node, in which some characters are written otherwise (docs/graph.md).
 * @param {string} node
 */
export function sessionOfNode(node) {
  return node.replace(/:%([0-9A-F]{2})/g, (_, code) =>
    code === '3A' ? '::' : code === '25' ? ':%' : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** The other way round: the id of a session's node, as the fold writes it.
 * @param {string} session
 */
export function sessionNode(session) {
  const text = session
    .replace(/:([:%])/g, (_, second) => (second === ':' ? ':%3A' : ':%25'))
    .replace(/__(?=-?\d+(?:_|$))/g, '_:%5F')
    .replace(/[\u007f-\u009f]/g, escaped);
  return /^(?:agent|orchestrator|recipe)$/.test(text)
    ? escaped(text.slice(0, 1)) + text.slice(1)
    : text;
}

/** @param {string} character */
function escaped(character) {
  return `:%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
