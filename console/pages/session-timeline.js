/** Events of a session in order of time. */
import { fill, h } from '../dom.js';
import { clock, count, duration, plural, timeOf, when } from '../format.js';
import { showNode } from '../node-drawer.js';
import { actButton, empty, pill, table } from '../parts.js';
import { ask } from '../queries.js';

const pageSize = 500;
/** A pause that a reader should see. */
const pauseMs = 60_000;

/** @param {import('./session.js').Subject} subject */
export async function timelineOf({ workspace, id, signal }) {
  const filter = h('input', {
    type: 'search',
    placeholder: 'part of an event or tool name',
    spellcheck: 'false',
  });
  const place = h('div.page');
  const more = h('div.more');
  /** @type {any[]} */
  let rows = [];
  const draw = () => {
    const text = filter.value.trim().toLowerCase();
    const shown = rows.filter(({ event, tool }) =>
      `${event} ${tool ?? ''}`.toLowerCase().includes(text),
    );
    fill(
      place,
      rows.length === 0
        ? empty('The graph has no event of this session yet.')
        : [summary(rows, shown.length, isWhole), eventTable(shown, workspace)],
    );
  };
  let isWhole = false;
  /** Events of one instant may stand on two pages: the second begins at the last instant of the first. */
  const next = async () => {
    const since = rows.at(-1)?.at;
    const page = await ask('timeline', { session: id, workspace, limit: pageSize, since }, signal);
    const known = new Set(rows.map((row) => row.id));
    rows = [...rows, ...page.rows.filter((row) => !known.has(row.id))];
    isWhole = !page.hasMore;
    draw();
    fill(more, page.hasMore ? actButton('Load more', {}, next) : null);
  };
  filter.addEventListener('input', draw);
  await next();
  return h(
    'div.page',
    null,
    h('div.filters', null, h('label.field.wide', null, h('span', null, 'Filter'), filter)),
    place,
    more,
  );
}

/**
 * @param {readonly any[]} rows
 * @param {number} shown
 * @param {boolean} isWhole
 */
function summary(rows, shown, isWhole) {
  const first = rows[0]?.at;
  const last = rows.at(-1)?.at;
  const took = duration(timeOf(last) - timeOf(first));
  return h(
    'p.quiet',
    null,
    `${isWhole ? '' : 'The first '}${shown === rows.length ? plural(shown, 'event') : `${count(shown)} of ${plural(rows.length, 'event')}`}, from ${when(first)} over ${took}`,
  );
}

/**
 * @param {readonly any[]} rows
 * @param {string} workspace
 */
function eventTable(rows, workspace) {
  const gaps = new Map(
    rows.map((row, at) => [row, at === 0 ? 0 : timeOf(row.at) - timeOf(rows[at - 1]?.at)]),
  );
  return table({
    caption: 'Events in order of time',
    rows,
    empty: 'No event has such a name.',
    columns: [
      {
        title: 'Time',
        kind: 'time',
        cell: (row) => [
          h('time', { datetime: row.at, title: row.at }, clock(row.at)),
          gapOf(gaps.get(row) ?? 0),
        ],
      },
      {
        title: 'Event',
        cell: (row) =>
          h(
            'button.plain.mono',
            { type: 'button', onclick: () => showNode(workspace, row.id) },
            row.event,
          ),
      },
      { title: 'Tool', cell: (row) => (row.tool === null ? '–' : h('span.mono', null, row.tool)) },
      {
        title: 'About',
        kind: 'grow',
        cell: (row) => [toneOf(row.event), row.detail === null ? '' : ` ${row.detail}`],
      },
    ],
  });
}

/** @param {number} ms */
function gapOf(ms) {
  return ms >= pauseMs ? h('div.sub', null, `after ${duration(ms)}`) : null;
}

/** @param {string} event */
function toneOf(event) {
  if (/:(error|failed)$/.test(event)) return pill('bad', 'error');
  if (/^(session|execution):(start|end|fork|resume)/.test(event))
    return pill('info', event.split(':')[1]);
  return null;
}
