/** An answer as a table, as a picture where it holds nodes, and as a file. */
import { fill, h } from '../dom.js';
import { count, duration, plural } from '../format.js';
import { graphView } from '../graph-view.js';
import { nameOf } from '../kinds.js';
import { showNode } from '../node-drawer.js';
import { empty, failure, loading, table } from '../parts.js';

/** More rows than this make a page slow: the file has them all. */
const rowsShown = 500;

/**
 * @param {HTMLElement} place
 * @param {() => Promise<any>} ask
 * @param {AbortSignal} signal
 */
export async function resultOf(place, ask, signal) {
  fill(place, loading('Asking the graph'));
  const began = performance.now();
  try {
    const answer = await ask();
    if (!signal.aborted) fill(place, shown(answer, performance.now() - began, signal));
  } catch (error) {
    if (!signal.aborted) fill(place, failureOf(error));
  }
}

/** @param {any} error */
function failureOf(error) {
  const { line, column, clause } = error.details ?? {};
  const box = failure(error);
  if (line !== undefined)
    box.append(
      h(
        'p.quiet',
        null,
        `line ${line}, column ${column}${clause === undefined ? '' : `, in ${clause}`}`,
      ),
    );
  return box;
}

/**
 * @param {{ columns: string[], rows: any[][], has_more: boolean }} answer
 * @param {number} ms
 * @param {AbortSignal} signal
 */
function shown({ columns, rows, has_more: hasMore }, ms, signal) {
  const { nodes, edges } = graphIn(rows);
  const place = h('div');
  const asTable = () => fill(place, rowTable(columns, rows));
  const asPicture = () => {
    const view = graphView({ label: 'Nodes of the answer', signal });
    fill(place, view.element);
    view.add(nodes, edges);
    view.list();
  };
  asTable();
  return h(
    'div.page',
    null,
    h(
      'div.actions',
      null,
      h(
        'span',
        null,
        `${plural(rows.length, 'row')}${hasMore ? ', and there are more' : ''}, ${duration(ms)}`,
      ),
      nodes.length === 0
        ? null
        : [
            h('button.small', { type: 'button', onclick: asTable }, 'Table'),
            h(
              'button.small',
              { type: 'button', onclick: asPicture },
              `Picture of ${plural(nodes.length, 'node')}`,
            ),
          ],
      rows.length === 0
        ? null
        : [
            h(
              'button.small',
              {
                type: 'button',
                onclick: () =>
                  save(
                    JSON.stringify({ columns, rows }, null, 1),
                    'application/json',
                    'answer.json',
                  ),
              },
              'Save as JSON',
            ),
            h(
              'button.small',
              {
                type: 'button',
                onclick: () => save(csvOf(columns, rows), 'text/csv', 'answer.csv'),
              },
              'Save as CSV',
            ),
          ],
    ),
    place,
  );
}

/**
 * @param {readonly string[]} columns
 * @param {readonly any[][]} rows
 */
function rowTable(columns, rows) {
  if (rows.length === 0) return empty('No rows.');
  const isNumber = columns.map((_, at) =>
    rows.every((row) => row[at] === null || typeof row[at] === 'number'),
  );
  return h(
    'div.page',
    null,
    table({
      caption: 'Rows of the answer',
      rows: rows.slice(0, rowsShown),
      columns: columns.map((title, at) => ({
        title,
        kind: isNumber[at] === true ? 'num' : '',
        cell: (/** @type {any[]} */ row) => cellOf(row[at]),
      })),
    }),
    rows.length > rowsShown
      ? h(
          'p.quiet',
          null,
          `The first ${count(rowsShown)} rows; a saved file has all ${count(rows.length)}.`,
        )
      : null,
  );
}

/** @param {any} value */
function cellOf(value) {
  if (value === null || value === undefined) return h('span.quiet', null, 'null');
  if (isNode(value))
    return h(
      'button.plain',
      { type: 'button', onclick: () => showNode(value.workspace, value.id) },
      nameOf(value),
    );
  if (isEdge(value)) return h('span.mono', null, `${value.from} -[${value.type}]-> ${value.to}`);
  if (isPath(value))
    return h(
      'span',
      null,
      value.nodes.map((/** @type {any} */ node, /** @type {number} */ at) => [
        at === 0 ? '' : ` –${value.relationships[at - 1]?.type}→ `,
        cellOf(node),
      ]),
    );
  if (typeof value === 'object') return h('code', null, JSON.stringify(value));
  const text = String(value);
  return text.length > 400 ? `${text.slice(0, 399)}…` : text;
}

/** @param {any} value */
function isNode(value) {
  return Array.isArray(value?.labels) && typeof value.id === 'string';
}

/** @param {any} value */
function isEdge(value) {
  return (
    typeof value?.from === 'string' &&
    typeof value.type === 'string' &&
    typeof value.to === 'string'
  );
}

/** @param {any} value */
function isPath(value) {
  return Array.isArray(value?.nodes) && Array.isArray(value.relationships);
}

/** Every node and edge anywhere in the rows.
 * @param {readonly any[][]} rows
 */
function graphIn(rows) {
  /** @type {any[]} */
  const nodes = [];
  /** @type {any[]} */
  const edges = [];
  /** @param {any} value */
  const visit = (value) => {
    if (isNode(value)) nodes.push(value);
    else if (isEdge(value)) edges.push(value);
    else if (isPath(value)) [...value.nodes, ...value.relationships].forEach(visit);
    else if (Array.isArray(value)) value.forEach(visit);
  };
  rows.forEach((row) => row.forEach(visit));
  return {
    nodes: [...new Map(nodes.map((node) => [`${node.workspace}\n${node.id}`, node])).values()],
    edges,
  };
}

/**
 * @param {readonly string[]} columns
 * @param {readonly any[][]} rows
 */
function csvOf(columns, rows) {
  return [columns, ...rows].map((row) => row.map(csvCell).join(',')).join('\r\n');
}

/** A cell that a spreadsheet would take for a formula is made text.
 * @param {any} value
 */
function csvCell(value) {
  const text =
    value === null || value === undefined
      ? ''
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value);
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * @param {string} text
 * @param {string} type
 * @param {string} name
 */
function save(text, type, name) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
