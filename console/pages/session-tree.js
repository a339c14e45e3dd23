/** A session as a tree: runs, iterations, blocks, tool calls, child sessions. */
import { fill, h } from '../dom.js';
import { duration, plural, timeOf } from '../format.js';
import { showNode } from '../node-drawer.js';
import { empty, pill } from '../parts.js';
import { ask } from '../queries.js';
import { sessionAddress, sessionOfNode } from '../session-words.js';

const rowsMax = 5000;
/** Levels that stand open at first. */
const openDepth = 3;

/** @param {import('./session.js').Subject} subject */
export async function treeOf({ workspace, id, signal }) {
  const { rows, hasMore } = await ask(
    'session-tree',
    { session: id, workspace, limit: rowsMax },
    signal,
  );
  if (rows.length === 0) return empty('The graph does not know this session yet.');
  /** Rows come depth first, so a row's children are those behind it that stand deeper. */
  const hasChildren = rows.map((row, at) => (rows[at + 1]?.depth ?? 0) > row.depth);
  const isOpen = rows.map((row) => row.depth < openDepth);
  const list = h('ul.tree', { 'aria-label': 'Tree of this session' });
  const draw = () => {
    /** @type {Node[]} */
    const shown = [];
    let hiddenBelow = Number.POSITIVE_INFINITY;
    for (const [at, row] of rows.entries()) {
      if (row.depth > hiddenBelow) continue;
      hiddenBelow =
        isOpen[at] === true || hasChildren[at] === false ? Number.POSITIVE_INFINITY : row.depth;
      shown.push(lineOf(row, { at, isOpen, hasChildren }, turn));
    }
    fill(list, shown);
  };
  /** @param {number} at */
  const turn = (at) => {
    isOpen[at] = isOpen[at] !== true;
    draw();
    /** @type {HTMLElement | null} */ (list.querySelector(`[data-at="${at}"]`))?.focus();
  };
  /** @param {boolean} open */
  const turnAll = (open) => {
    isOpen.fill(open);
    if (!open) isOpen[0] = true;
    draw();
  };
  draw();
  return h(
    'div.card',
    null,
    h(
      'div.actions',
      null,
      h('button.small', { type: 'button', onclick: () => turnAll(true) }, 'Open all'),
      h('button.small', { type: 'button', onclick: () => turnAll(false) }, 'Close all'),
      h(
        'span.quiet',
        null,
        `${plural(rows.length, 'node')}${hasMore ? `, and more than ${rowsMax} are not shown` : ''}`,
      ),
    ),
    list,
  );
}

/**
 * @param {any} row
 * @param {{ at: number, isOpen: readonly boolean[], hasChildren: readonly boolean[] }} where
 * @param {(at: number) => void} turn
 */
function lineOf(row, { at, isOpen, hasChildren }, turn) {
  const { workspace, kind, id, name, status, depth } = row;
  const took = timeOf(row.ended_at) - timeOf(row.began_at);
  const isSession = kind === 'Session';
  const number = /::iteration::(\d+)$/.exec(id)?.[1];
  const told =
    number === undefined ? name : [number, name].filter((one) => one !== null).join(' · ');
  const label = told ?? (isSession ? id : (kind ?? id));
  return h(
    'li',
    { style: { 'padding-left': `${0.4 + depth * 1.25}rem` } },
    hasChildren[at] === true
      ? h(
          'button.twist',
          {
            type: 'button',
            'data-at': at,
            'aria-expanded': String(isOpen[at] === true),
            'aria-label': `${isOpen[at] === true ? 'Close' : 'Open'} ${label}`,
            onclick: () => turn(at),
          },
          isOpen[at] === true ? '▾' : '▸',
        )
      : h('span.twist', null),
    h(
      'span.what',
      null,
      pill('plain', kind ?? 'Node'),
      ' ',
      isSession && depth > 0
        ? h('a.mono', { href: sessionAddress(workspace, sessionOfNode(id), 'tree') }, label)
        : h('button.plain', { type: 'button', onclick: () => showNode(workspace, id) }, label),
      ' ',
      status === null ? null : pill(toneOf(status), status),
    ),
    h('span.took', null, Number.isNaN(took) ? '' : duration(took)),
  );
}

/** @param {string} status */
function toneOf(status) {
  if (/fail|error|denied|cancel/.test(status)) return 'bad';
  return /running|pending/.test(status) ? 'info' : 'ok';
}
