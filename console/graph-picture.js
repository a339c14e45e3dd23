/** The canvas of a graph: shapes, layout, panning and zooming. It knows nothing of the API. */
import { h, themeColor } from './dom.js';
import { colorOf, kindOf, nameOf, nameRank } from './kinds.js';
import { namesWithRoom } from './name-room.js';
import cytoscape from './vendor/cytoscape.js';

/** @typedef {import('./graph-view.js').GraphNode} GraphNode */

/** Up to here the names of all edges are shown, and those of the node that is chosen. */
const toldMost = 8;
/** Above this a force layout takes seconds. */
const forceMost = 250;
const closest = 1.5;
/** Pixels of a name; below the zoom it shrinks with its node, and goes. */
const nameSize = 12;
const smallestZoom = 0.6;
const measure = document.createElement('canvas').getContext('2d');

/**
 * @param {object} what
 * @param {string} what.label
 * @param {AbortSignal} what.signal
 * @param {(key: string) => void} what.onChoose
 * @param {(key: string) => void} what.onExpand
 */
export function graphPicture({ label, signal, onChoose, onExpand }) {
  const canvas = h('div.graph-canvas', {
    tabindex: '0',
    role: 'application',
    'aria-label': `${label}. Arrow keys pan, plus and minus zoom, 0 fits, Tab goes to the list of nodes beside it.`,
  });
  const cy = cytoscape({
    headless: true,
    styleEnabled: true,
    style: styles(),
    minZoom: 0.1,
    maxZoom: 3,
    boxSelectionEnabled: false,
  });
  const picture = {
    canvas,
    fit: () => void cy.animate({ fit: { eles: cy.elements(), padding: 30 }, duration: 150 }),
    arrange: () => arrange(cy),
    /** @param {number} by */
    zoom: (by) =>
      void cy.zoom({
        level: cy.zoom() * by,
        renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 },
      }),
    /** @param {any[]} elements those that are there already are left alone */
    add: (elements) => {
      const fresh = elements.filter(({ data }) => cy.getElementById(data.id).empty());
      cy.add(fresh);
      placeNew(cy);
      tellNames(cy);
      return fresh.length;
    },
    edgeCount: () => cy.edges().length,
    /** @param {string} key */
    mark: (key) => {
      cy.elements().removeClass('chosen');
      cy.getElementById(key).addClass('chosen');
      tellNames(cy);
    },
  };
  cy.on('zoom resize', () => sizeNames(cy));
  cy.on('dragfree', 'node', () => tellNames(cy));
  cy.on('mouseover', 'node, edge', (/** @type {any} */ event) => tellNames(cy, event.target));
  cy.on('mouseout', 'node, edge', () => tellNames(cy));
  cy.on('tap', 'node', (/** @type {any} */ event) => onChoose(event.target.id()));
  cy.on('dbltap', 'node', (/** @type {any} */ event) => onExpand(event.target.id()));
  canvas.addEventListener('keydown', (event) => onKey(event, cy, picture));
  keepInPlace(cy, canvas, picture.arrange, signal);
  return picture;
}

/**
 * The canvas gets its size when it comes into the page, and follows it.
 *
 * @param {any} cy
 * @param {HTMLElement} canvas
 * @param {() => void} arrange
 * @param {AbortSignal} signal
 */
function keepInPlace(cy, canvas, arrange, signal) {
  let isMounted = false;
  const observer = new ResizeObserver(() => {
    if (!canvas.isConnected) return;
    if (isMounted) {
      cy.resize();
      return;
    }
    isMounted = true;
    cy.mount(canvas);
    cy.style(styles());
    arrange();
  });
  observer.observe(canvas);
  signal.addEventListener('abort', () => {
    observer.disconnect();
    cy.destroy();
  });
}

/**
 * @param {string} workspace
 * @param {string} id
 */
export function keyOf(workspace, id) {
  return `${workspace}\n${id}`;
}

/**
 * @param {GraphNode} node
 * @returns {any}
 */
export function nodeElement(node) {
  const kind = kindOf(node.labels);
  const sizes = { Session: 34, Event: 14 };
  const size = /** @type {Record<string, number>} */ (sizes)[kind.label] ?? 24;
  const data = {
    id: keyOf(node.workspace, node.id),
    name: nameOf(node),
    color: colorOf(kind),
    rank: nameRank(kind.label),
    size,
  };
  return { group: 'nodes', data };
}

/**
 * @param {string} workspace
 * @param {import('./graph-view.js').GraphEdge} edge
 * @returns {any}
 */
export function edgeElement(workspace, { from, type, to }) {
  const [source, target] = [keyOf(workspace, from), keyOf(workspace, to)];
  return { group: 'edges', data: { id: `${source}\n${type}\n${target}`, source, target, type } };
}

/** @returns {any} */
function styles() {
  const outline = { 'text-outline-width': 2, 'text-outline-color': themeColor('surface') };
  return [
    {
      selector: 'node',
      style: {
        'background-color': 'data(color)',
        width: 'data(size)',
        height: 'data(size)',
        label: 'data(name)',
        color: themeColor('text'),
        'font-size': nameSize,
        'font-family': 'system-ui, sans-serif',
        'text-valign': 'bottom',
        'text-margin-y': 3,
        'min-zoomed-font-size': 7,
        ...outline,
      },
    },
    {
      selector: 'edge',
      style: {
        width: 1.2,
        'line-color': themeColor('quiet'),
        'line-opacity': 0.45,
        'target-arrow-color': themeColor('quiet'),
        'target-arrow-shape': 'triangle',
        'arrow-scale': 0.8,
        'curve-style': 'bezier',
        'font-size': 9,
        color: themeColor('quiet'),
        'text-rotation': 'autorotate',
        ...outline,
      },
    },
    // Names of edges cover each other and those of the nodes: they are told where one looks, or where there are few.
    {
      selector: 'edge.told',
      style: {
        label: 'data(type)',
        'line-opacity': 1,
        'z-index': 9,
        'min-zoomed-font-size': 6,
      },
    },
    { selector: 'node.unnamed', style: { label: '' } },
    {
      selector: 'node.looked-at',
      style: {
        label: 'data(name)',
        'min-zoomed-font-size': 0,
        'z-index': 10,
        'text-background-color': themeColor('surface'),
        'text-background-opacity': 0.9,
        'text-background-padding': 2,
      },
    },
    { selector: '.chosen', style: { 'border-width': 4, 'border-color': themeColor('text') } },
  ];
}

/**
 * Shows the names that have room. Of edges those of the node that is chosen, and of what the pointer is over, unless they are too many to be read; of
 * all, where they are few.
 *
 * @param {any} cy
 * @param {any} [pointed]
 */
function tellNames(cy, pointed) {
  const edges = cy.edges();
  const nodes = cy.nodes();
  edges.removeClass('told');
  nodes.removeClass('looked-at');
  const shown = namesWithRoom(nodes.map(boxesOf));
  nodes.forEach(
    (/** @type {any} */ node) => void node.toggleClass('unnamed', !shown.has(node.id())),
  );
  if (edges.length <= toldMost) edges.addClass('told');
  for (const one of [cy.$('.chosen'), pointed]) {
    if (one === undefined || one.empty()) continue;
    if (one.isEdge()) one.addClass('told').connectedNodes().addClass('looked-at');
    else {
      one.addClass('looked-at');
      const own = one.connectedEdges();
      if (own.length <= toldMost) own.addClass('told').connectedNodes().addClass('looked-at');
    }
  }
}

/**
 * What a node and its name take of the canvas, in pixels.
 *
 * @param {any} node
 */
function boxesOf(node) {
  const zoom = node.cy().zoom();
  const { x, y } = node.renderedPosition();
  const radius = (node.data('size') * zoom) / 2;
  const size = nameSize * Math.min(1, zoom / smallestZoom);
  if (measure !== null) measure.font = `${size}px system-ui, sans-serif`;
  const half = (measure?.measureText(node.data('name')).width ?? 0) / 2 + 2;
  const top = y + radius + 3 * zoom;
  return {
    key: node.id(),
    rank: node.data('rank'),
    name: { x1: x - half, x2: x + half, y1: top, y2: top + size + 2 },
    node: { x1: x - radius, x2: x + radius, y1: y - radius, y2: y + radius },
  };
}

/** Names keep their size while one comes near, so that more of them find room.
 * @param {any} cy
 */
function sizeNames(cy) {
  const size = nameSize / Math.max(smallestZoom, cy.zoom());
  cy.style().selector('node').style('font-size', size).update();
  tellNames(cy);
}

/** What is new begins beside a neighbour that has its place already; the first ones on a spiral, so that a graph looks alike each time.
 * @param {any} cy
 */
function placeNew(cy) {
  cy.nodes()
    .filter((/** @type {any} */ node) => node.scratch('placed') === undefined)
    .forEach((/** @type {any} */ node, /** @type {number} */ at) => {
      const beside = node
        .neighborhood('node')
        .filter((/** @type {any} */ other) => other.scratch('placed') === true);
      const { x, y } = beside.empty() ? { x: 0, y: 0 } : beside[0].position();
      const [turn, radius] = [at * 2.4, 30 * Math.sqrt(at + 1)];
      node.position({ x: x + radius * Math.cos(turn), y: y + radius * Math.sin(turn) });
      node.scratch('placed', true);
    });
}

/** @param {any} cy */
function arrange(cy) {
  cy.layout(layoutOf(cy)).run();
  fillPlace(cy);
  // Few nodes are not blown up to fill the place.
  if (cy.zoom() > closest) cy.zoom(closest).center();
  sizeNames(cy);
}

/** A layout is as wide as it is high, the place is not.
 * @param {any} cy
 */
function fillPlace(cy) {
  const { w, h: height } = cy.nodes().boundingBox({ includeLabels: false });
  if (w === 0 || height === 0 || cy.height() === 0) return;
  const by = cy.width() / cy.height() / (w / height);
  const [wider, higher] = [Math.min(2, Math.max(1, by)), Math.min(2, Math.max(1, 1 / by))];
  cy.nodes().positions((/** @type {any} */ node) => ({
    x: node.position('x') * wider,
    y: node.position('y') * higher,
  }));
  cy.fit(cy.elements(), 40);
}

/** @param {any} cy */
function layoutOf(cy) {
  if (cy.nodes().length > forceMost)
    return { name: 'concentric', animate: false, padding: 30, minNodeSpacing: 12 };
  return {
    name: 'cose',
    animate: false,
    randomize: false,
    padding: 30,
    nodeRepulsion: () => 9000,
    idealEdgeLength: () => 70,
    nodeOverlap: 12,
    componentSpacing: 60,
    numIter: 800,
  };
}

/**
 * @param {KeyboardEvent} event
 * @param {any} cy
 * @param {{ fit: () => void, zoom: (by: number) => void }} picture
 */
function onKey(event, cy, { fit, zoom }) {
  const step = 60;
  /** @type {Record<string, () => void>} */
  const acts = {
    ArrowLeft: () => cy.panBy({ x: step, y: 0 }),
    ArrowRight: () => cy.panBy({ x: -step, y: 0 }),
    ArrowUp: () => cy.panBy({ x: 0, y: step }),
    ArrowDown: () => cy.panBy({ x: 0, y: -step }),
    '+': () => zoom(1.3),
    '=': () => zoom(1.3),
    '-': () => zoom(1 / 1.3),
    0: fit,
  };
  const done = acts[event.key];
  if (done === undefined || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  done();
}
