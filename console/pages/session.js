/** One session: its books, its timeline, its tree, its graph, its figures. */
import { get, part } from '../api.js';
import { fill, h } from '../dom.js';
import { bytes, count, when } from '../format.js';
import { facts, failure, loading, tabs } from '../parts.js';
import { sessionAddress, stateOf } from '../session-words.js';
import { may } from '../who.js';
import { deleteButton } from './session-delete.js';
import { graphOf } from './session-graph.js';
import { statisticsOf } from './session-statistics.js';
import { timelineOf } from './session-timeline.js';
import { treeOf } from './session-tree.js';

/** @typedef {{ workspace: string, id: string, signal: AbortSignal }} Subject */

/** @type {Record<string, { title: string, render: (subject: Subject) => Node | Promise<Node> }>} */
const parts = {
  timeline: { title: 'Timeline', render: timelineOf },
  tree: { title: 'Tree', render: treeOf },
  graph: { title: 'Graph', render: graphOf },
  statistics: { title: 'Tokens and tools', render: statisticsOf },
  books: { title: 'Books', render: booksOf },
};

/** @type {import('../app.js').Page} */
export const page = {
  title: 'Session',
  scope: 'ingest:read',
  render({ path: [workspace = '', id = '', chosen = 'timeline'], signal }) {
    document.title = `${id} · millrace`;
    const state = h('div.pills');
    const place = h('div', null, loading());
    const shown = parts[chosen] ?? parts['timeline'];
    const load = async () => {
      fill(place, loading());
      try {
        fill(place, await /** @type {any} */ (shown).render({ workspace, id, signal }));
      } catch (error) {
        if (!signal.aborted)
          fill(
            place,
            failure(error, () => void load()),
          );
      }
    };
    void load();
    void get(`/v1/sessions/${part(id)}`, { workspace }, signal).then(
      (row) => fill(state, stateOf(row)),
      () =>
        fill(
          state,
          h('span.quiet', null, 'Known by its name alone: no record of its own has come yet.'),
        ),
    );
    return h(
      'div',
      null,
      h('div', null, h('div.mono', null, id), h('div.quiet', null, `in workspace ${workspace}`)),
      state,
      tabs(
        'Parts of this session',
        Object.entries(parts).map(([name, { title }]) => ({
          title,
          href: sessionAddress(workspace, id, name),
          current: name === chosen,
        })),
      ),
      place,
    );
  },
};

/** @param {Subject} subject */
async function booksOf({ workspace, id, signal }) {
  const row = await get(`/v1/sessions/${part(id)}`, { workspace }, signal);
  return h(
    'div.card',
    null,
    h('h2', null, 'Books'),
    facts([
      ['Accepted', count(row.accepted)],
      ['Applied', count(row.applied)],
      ['Pending', count(row.pending)],
      [
        'Dead',
        row.dead > 0 && may('ops:read')
          ? h(
              'a',
              { href: `#/dead?session=${part(id)}&workspace=${part(workspace)}` },
              count(row.dead),
            )
          : count(row.dead),
      ],
      ['Discarded', count(row.discarded)],
      ['Duplicates', count(row.duplicates)],
      ['Residual', count(row.residual)],
      ['Backlog', bytes(row.backlog_bytes)],
      ['Owner', row.owner ?? 'nobody'],
      ['Worker', row.worker ?? 'none'],
      ['Attempts', count(row.attempts)],
      ['Life', `${row.ordinal} (${row.finalised ? 'ended' : 'open'})`],
      ['Committed up to', h('span.mono', null, row.committed)],
      ['End of the log', h('span.mono', null, row.end)],
      ['Key', h('span.mono', null, row.key)],
    ]),
    row.error === null
      ? null
      : h('div.notice.warn', null, h('code', null, row.error.code), row.error.message),
    row.quarantine === null
      ? null
      : h(
          'div.failure',
          null,
          h('strong', null, `In quarantine since ${when(row.quarantine.since)}`),
          h('code', null, row.quarantine.code),
          row.quarantine.message,
          h('a', { href: '#/quarantine' }, 'See the ways out'),
        ),
    h('div.actions', null, deleteButton({ workspace, id })),
  );
}
