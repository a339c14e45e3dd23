/** A part of the graph as a picture with a list beside it: panned, zoomed and expanded by mouse, touch and keyboard. */
import { get } from './api.js';
import { fill, h } from './dom.js';
import { plural } from './format.js';
import { edgeElement, graphPicture, keyOf, nodeElement } from './graph-picture.js';
import { colorOf, kindOf, nameOf } from './kinds.js';
import { propertiesOf, showNode } from './node-drawer.js';
import { actButton, pill, say } from './parts.js';
import { sessionAddress, sessionOfNode } from './session-words.js';

/**
 * @typedef {{ id: string, workspace: string, labels: string[], properties: Record<string, any> }} GraphNode
 * @typedef {{ from: string, type: string, to: string }} GraphEdge
 */

/** More than this nobody reads, and a picture becomes slow. */
const nodesMax = 400;
const expandMost = 40;

/**
 * @param {object} what
 * @param {string} what.label
 * @param {AbortSignal} what.signal
 */
export function graphView({ label, signal }) {
  const side = h('div.graph-side');
  const legend = h('ul.legend', { 'aria-label': 'Colours' });
  const counts = h('span.quiet', { role: 'status' });
  /** @type {Map<string, GraphNode>} */
  const known = new Map();
  const list = () => fill(side, listOf([...known.values()], choose));
  /** @param {(node: GraphNode) => unknown} act */
  const withNode = (act) => (/** @type {string} */ key) => {
    const node = known.get(key);
    if (node !== undefined) void act(node);
  };
  const picture = graphPicture({
    label,
    signal,
    onChoose: withNode(choose),
    onExpand: withNode((node) => expand(node).catch((error) => say(error.message, 'bad'))),
  });

  /**
   * @param {readonly GraphNode[]} nodes
   * @param {readonly GraphEdge[]} edges
   */
  function add(nodes, edges) {
    const fresh = nodes.filter((node) => !known.has(keyOf(node.workspace, node.id)));
    const taken = fresh.slice(0, Math.max(0, nodesMax - known.size));
    const left = fresh.length - taken.length;
    if (left > 0) say(`A picture has at most ${nodesMax} nodes: ${left} are left out`, 'warn');
    for (const node of taken) known.set(keyOf(node.workspace, node.id), node);
    picture.add(taken.map(nodeElement));
    const lines = edges.map((edge) => edgeElement(nodes[0]?.workspace ?? '', edge));
    picture.add(lines.filter(({ data }) => known.has(data.source) && known.has(data.target)));
    fill(counts, `${plural(known.size, 'node')}, ${plural(picture.edgeCount(), 'edge')}`);
    fill(legend, legendOf([...known.values()]));
    if (taken.length > 0) picture.arrange();
  }

  /**
   * @param {GraphNode} node
   * @param {string} [type]
   * @param {string} [direction]
   */
  async function expand(node, type, direction) {
    const { workspace, id } = node;
    const asked = { workspace, node: id, type, direction, limit: expandMost };
    const found = await get('/v1/graph/neighbours', asked, signal);
    add([found.node, ...found.nodes], found.edges);
    choose(node, found);
    if (found.next_page_token !== undefined)
      say(`The first ${expandMost} edges are shown: choose a type beside the picture`, 'info');
  }

  /**
   * @param {GraphNode} node
   * @param {any} [found]
   */
  function choose(node, found) {
    picture.mark(keyOf(node.workspace, node.id));
    fill(side, sideOf(node, found, { expand, list }));
  }

  const element = h(
    'div.page',
    null,
    h('div.actions', null, tools(picture, list), counts),
    legend,
    h('div.graph', null, picture.canvas, side),
  );
  return { element, add, list };
}

/**
 * @param {ReturnType<typeof graphPicture>} picture
 * @param {() => void} list
 */
function tools(picture, list) {
  /** @type {readonly (readonly [string, string, () => void])[]} */
  const all = [
    ['+', 'Zoom in', () => picture.zoom(1.3)],
    ['−', 'Zoom out', () => picture.zoom(1 / 1.3)],
    ['Fit', 'Fit the picture', picture.fit],
    ['Arrange', 'Arrange the nodes anew', picture.arrange],
    ['List of nodes', 'List of nodes', list],
  ];
  return all.map(([text, label, onclick]) =>
    h('button.small', { type: 'button', 'aria-label': label, onclick }, text),
  );
}

/** @param {readonly GraphNode[]} nodes */
function legendOf(nodes) {
  const kinds = nodes.map((node) => kindOf(node.labels));
  const unique = new Map(kinds.map((kind) => [kind.label, kind]));
  return [...unique.values()].map((kind) =>
    h(
      'li',
      null,
      h('span.dot', { style: { background: colorOf(kind) }, 'aria-hidden': 'true' }),
      kind.label,
    ),
  );
}

/** The same nodes as a list: for those who do not use the picture.
 * @param {readonly GraphNode[]} nodes
 * @param {(node: GraphNode) => void} choose
 */
function listOf(nodes, choose) {
  return [
    h('h2', null, 'Nodes'),
    h('p.quiet', null, 'Choose one here or in the picture. A double click expands it.'),
    h(
      'ul',
      null,
      nodes.map((node) =>
        h(
          'li',
          null,
          h('button.plain', { type: 'button', onclick: () => choose(node) }, nameOf(node)),
          ' ',
          h('span.quiet', null, kindOf(node.labels).label),
        ),
      ),
    ),
  ];
}

/**
 * @param {GraphNode} node
 * @param {any} found
 * @param {{ expand: (node: GraphNode, type?: string, direction?: string) => Promise<void>, list: () => void }} acts
 */
function sideOf(node, found, { expand, list }) {
  const { workspace, id, labels, properties } = node;
  const shown = Object.entries(properties).filter(([name]) => name !== 'data');
  return [
    h(
      'div.actions',
      null,
      h('button.small', { type: 'button', onclick: list }, 'Back to the list'),
    ),
    h('h2', null, nameOf(node)),
    h(
      'div.pills',
      null,
      labels.map((label) => pill('plain', label)),
    ),
    h(
      'div.actions',
      null,
      actButton('Expand', { class: 'primary' }, () => expand(node)),
      h('button', { type: 'button', onclick: () => showNode(workspace, id) }, 'Details'),
      labels.includes('Session')
        ? h('a', { href: sessionAddress(workspace, sessionOfNode(id)) }, 'Open the session')
        : null,
    ),
    found === undefined ? null : typesOf(found.degrees, (type, way) => expand(node, type, way)),
    propertiesOf(Object.fromEntries(shown.slice(0, 12))),
  ];
}

/**
 * @param {readonly any[]} degrees
 * @param {(type: string, direction: string) => Promise<void>} expand
 */
function typesOf(degrees, expand) {
  return h(
    'ul',
    { 'aria-label': 'Edges by type' },
    degrees.map(({ type, direction, count }) =>
      h(
        'li',
        null,
        actButton(`${type} ${direction === 'out' ? '→' : '←'} ${count}`, { class: 'plain' }, () =>
          expand(type, direction),
        ),
      ),
    ),
  );
}
