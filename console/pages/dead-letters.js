/** Letters one by one, with filters that acts take too. */
import { get, send } from '../api.js';
import { fill, h } from '../dom.js';
import { ago, count, localTime } from '../format.js';
import { actButton, failure, loading, pages, pill, say, table } from '../parts.js';
import { sessionAddress } from '../session-words.js';
import { needs } from '../who.js';
import { discardMany, requeueMany } from './dead-acts.js';

/** Name, title and type of each filter; a time is typed as local and asked for in UTC. */
const names = [
  ['workspace', 'Workspace', 'text'],
  ['session', 'Session', 'text'],
  ['code', 'Error code', 'text'],
  ['event', 'Event', 'text'],
  ['group', 'Cause', 'text'],
  ['since', 'Dead since', 'datetime-local'],
  ['until', 'Dead before', 'datetime-local'],
];

/**
 * @param {Record<string, string>} given
 * @param {AbortSignal} signal
 */
export function lettersOf(given, signal) {
  const { retired, ...filter } = given;
  const place = h('div', null, loading());
  const load = async () => {
    try {
      fill(place, await listOf(given, signal));
    } catch (error) {
      if (!signal.aborted)
        fill(
          place,
          failure(error, () => void load()),
        );
    }
  };
  void load();
  const isFiltered = Object.keys(filter).length > 0;
  const all = isFiltered ? 'these' : 'all';
  return h(
    'div.page',
    null,
    filterForm(given),
    h(
      'div.actions',
      null,
      actButton(`Requeue ${all}…`, needs('ops:write'), () => requeueMany(filter)),
      // A discard without a filter is refused.
      isFiltered
        ? actButton('Discard these…', { class: 'danger', ...needs('ops:write') }, () =>
            discardMany(filter),
          )
        : null,
      actButton(`Export ${all}`, {}, () => exportAll(given)),
      retired === undefined ? null : h('span.quiet', null, 'Acts concern live letters alone.'),
    ),
    place,
  );
}

/** @param {Record<string, string>} given */
function filterForm(given) {
  const inputs = names.map(([name = '', title, type]) => ({
    name,
    title,
    isTime: type !== 'text',
    input: h('input', {
      type,
      step: '1',
      value: type === 'text' ? (given[name] ?? '') : localTime(given[name]),
      spellcheck: 'false',
      placeholder: 'any',
    }),
  }));
  const retired = h('input', { type: 'checkbox', checked: given['retired'] === 'true' });
  const choose = () => {
    const pairs = inputs
      .map(({ name, input, isTime }) => ({ name, value: input.value.trim(), isTime }))
      .filter(({ value }) => value !== '')
      .map(({ name, value, isTime }) => [name, isTime ? new Date(value).toISOString() : value]);
    const chosen = new URLSearchParams([
      ...pairs,
      ...(retired.checked ? [['retired', 'true']] : []),
    ]);
    location.hash = `#/dead/letters${chosen.size === 0 ? '' : `?${chosen}`}`;
  };
  return h(
    'form.filters',
    {
      role: 'search',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        choose();
      },
    },
    inputs.map(({ title, input }) => h('label.field', null, h('span', null, title), input)),
    h('label.check', null, retired, 'Settled ones too'),
    h('button', { type: 'submit' }, 'Filter'),
  );
}

/**
 * @param {Record<string, string>} given
 * @param {AbortSignal} signal
 */
function listOf(given, signal) {
  return pages(
    async (token) => {
      const answer = await get(
        '/v1/dead-letters',
        { ...given, limit: 100, page_token: token },
        signal,
      );
      return { rows: answer.dead_letters, next: answer.next_page_token };
    },
    (letters) =>
      table({
        caption: 'Dead letters',
        rows: letters,
        empty: 'No dead letter is like this.',
        columns: [
          {
            title: 'Event',
            cell: (row) => [
              h(
                'a.mono',
                { href: `#/dead/letter/${encodeURIComponent(row.id)}` },
                row.event ?? 'unreadable',
              ),
              row.state === 'live' ? null : h('div', null, pill('plain', row.state)),
            ],
          },
          {
            title: 'Reason',
            kind: 'grow',
            cell: (row) => [pill('bad', row.error.code), h('div', null, row.error.message)],
          },
          {
            title: 'Session',
            cell: (row) => [
              h('a.mono', { href: sessionAddress(row.workspace, row.session_id) }, row.session_id),
              h('div.sub', null, row.workspace),
            ],
          },
          { title: 'Since', kind: 'time', cell: (row) => ago(row.ts) },
          { title: 'Attempts', kind: 'num', cell: (row) => count(row.attempts) },
        ],
      }),
  );
}

/** The file comes whole into memory, as a page cannot stream into a file with a token.
 * @param {Record<string, string>} given
 */
async function exportAll(given) {
  const response = await send('GET', '/v1/dead-letters/export', { query: given });
  const url = URL.createObjectURL(await response.blob());
  h('a', { href: url, download: 'dead-letters.ndjson' }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  say('Saved dead-letters.ndjson');
}
