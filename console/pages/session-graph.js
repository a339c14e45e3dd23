/** The graph around a session, to be expanded from there. */
import { get } from '../api.js';
import { h } from '../dom.js';
import { graphView } from '../graph-view.js';
import { kindOf } from '../kinds.js';
import { sessionNode } from '../session-words.js';

/** Each event has edges of these types: they are shown when they are asked for. */
const leftOut = new Set(['HAS_EVENT', 'SOURCED_FROM']);
const perType = 30;
/** The first picture goes one step further from nodes of these kinds, while it is small. */
const furtherKinds = new Set(['OrchestratorRun', 'Delegation', 'RecipeRun']);
const furtherMost = 6;
const smallMost = 60;

/** @param {import('./session.js').Subject} subject */
export async function graphOf({ workspace, id, signal }) {
  const view = graphView({ label: `Graph around session ${id}`, signal });
  const first = await around(workspace, sessionNode(id), signal);
  view.add(first.nodes, first.edges);
  const further = first.nodes
    .slice(1)
    .filter((node) => furtherKinds.has(kindOf(node.labels).label));
  for (const node of further.slice(0, furtherMost)) {
    if (first.nodes.length > smallMost) break;
    const next = await around(workspace, node.id, signal);
    view.add(next.nodes, next.edges);
  }
  view.list();
  return h('div', null, view.element);
}

/**
 * A node with its neighbours by all types but those that lead to events.
 *
 * @param {string} workspace
 * @param {string} node
 * @param {AbortSignal} signal
 */
async function around(workspace, node, signal) {
  const middle = await get('/v1/graph/neighbours', { workspace, node, limit: 1 }, signal);
  const types = middle.degrees.filter((/** @type {any} */ one) => !leftOut.has(one.type));
  const found = await Promise.all(
    types.map((/** @type {any} */ { type, direction }) =>
      get('/v1/graph/neighbours', { workspace, node, type, direction, limit: perType }, signal),
    ),
  );
  return {
    nodes: [middle.node, ...found.flatMap(({ nodes }) => nodes)],
    edges: found.flatMap(({ edges }) => edges),
  };
}
