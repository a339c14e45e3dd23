/** All sessions: by their last change, by text, by state. */
import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { ago, bytes, count } from '../format.js';
import { failure, loading, pages, table } from '../parts.js';
import { sessionLink, stateOf } from '../session-words.js';

const states = [
  ['', 'Any, last changed first'],
  ['key', 'Any, by name'],
  ['backlog', 'With a backlog'],
  ['dead', 'With dead letters'],
  ['quarantined', 'In quarantine'],
  ['active', 'Not ended'],
  ['ended', 'Ended'],
];

const typingMs = 250;

/** @type {import('../app.js').Page} */
export const page = {
  title: 'Sessions',
  scope: 'ingest:read',
  render({ query, signal }) {
    const place = h('div', { 'aria-live': 'polite' });
    /** @type {AbortController | undefined} */
    let running;
    /** @param {Record<string, string>} chosen */
    const load = async (chosen) => {
      running?.abort();
      running = new AbortController();
      const mine = AbortSignal.any([running.signal, signal]);
      fill(place, loading());
      try {
        const list = await listOf(chosen, mine);
        if (!mine.aborted) fill(place, list);
      } catch (error) {
        if (!mine.aborted)
          fill(
            place,
            failure(error, () => void load(chosen)),
          );
      }
    };
    const form = filterForm(query, (chosen) => {
      const given = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value !== ''));
      history.replaceState(null, '', `#/sessions${given.size === 0 ? '' : `?${given}`}`);
      void load(chosen);
    });
    void load(Object.fromEntries(query));
    return h('div', null, form, place);
  },
};

/**
 * @param {URLSearchParams} query
 * @param {(chosen: Record<string, string>) => void} onChoose
 */
function filterForm(query, onChoose) {
  const search = h('input', {
    type: 'search',
    value: query.get('search') ?? '',
    placeholder: 'part of an id or workspace',
    spellcheck: 'false',
  });
  const options = states.map(([value, title]) =>
    h('option', { value, selected: (query.get('state') ?? '') === value }, title),
  );
  const state = h('select', null, options);
  const workspace = h('input', {
    type: 'text',
    value: query.get('workspace') ?? '',
    placeholder: 'all',
    spellcheck: 'false',
  });
  const choose = () =>
    onChoose({
      search: search.value.trim(),
      state: state.value,
      workspace: workspace.value.trim(),
    });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  search.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(choose, typingMs);
  });
  state.addEventListener('change', choose);
  workspace.addEventListener('change', choose);
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    choose();
  };
  return h(
    'form.filters',
    { role: 'search', onsubmit },
    h('label.field.wide', null, h('span', null, 'Search'), search),
    h('label.field', null, h('span', null, 'Show'), state),
    h('label.field', null, h('span', null, 'Workspace'), workspace),
  );
}

/**
 * @param {Record<string, string>} chosen
 * @param {AbortSignal} signal
 */
function listOf({ search = '', state = '', workspace = '' }, signal) {
  const asked = { ...askedOf(search, state, workspace), limit: 50 };
  return pages(async (token) => {
    const answer = await get('/v1/sessions', { ...asked, page_token: token }, signal);
    return { rows: answer.sessions, next: answer.next_page_token };
  }, rowsOf);
}

/**
 * @param {string} search
 * @param {string} state
 * @param {string} workspace
 */
function askedOf(search, state, workspace) {
  const order = state === '' ? 'recent' : 'key';
  return { search, workspace, order, state: state === 'key' ? '' : state };
}

/** @param {readonly any[]} rows */
function rowsOf(rows) {
  return table({
    caption: 'Sessions with their counts',
    rows,
    empty: 'No session is like this.',
    columns: [
      {
        title: 'Session',
        kind: 'grow',
        cell: (row) => [
          sessionLink(row),
          h(
            'div.sub',
            null,
            [row.workspace, row.graph?.kind, row.graph?.agent].filter(Boolean).join(' · '),
          ),
        ],
      },
      { title: 'State', kind: 'state', cell: stateOf },
      { title: 'Accepted', kind: 'num', cell: (row) => count(row.accepted) },
      { title: 'Applied', kind: 'num', cell: (row) => count(row.applied) },
      {
        title: 'Pending',
        kind: 'num',
        cell: (row) =>
          row.pending === 0
            ? '0'
            : [count(row.pending), h('div.sub', null, bytes(row.backlog_bytes))],
      },
      { title: 'Dead', kind: 'num', cell: (row) => count(row.dead) },
      { title: 'Changed', kind: 'time', cell: (row) => ago(row.graph?.last_updated) },
    ],
  });
}
