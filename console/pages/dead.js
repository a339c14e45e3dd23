/** Dead letters: what could not be applied, why, and what makes it right. */
import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { count, when } from '../format.js';
import { failure, loading, pages, pill, table } from '../parts.js';
import { sessionAddress } from '../session-words.js';

/** @type {import('../app.js').Page} */
export const page = {
  title: 'Dead letters',
  scope: 'ops:read',
  render({ query, signal }) {
    const place = h('div', null, loading());
    const load = async () => {
      try {
        fill(place, await list(Object.fromEntries(query), signal));
      } catch (error) {
        if (!signal.aborted)
          fill(
            place,
            failure(error, () => void load()),
          );
      }
    };
    void load();
    return h('div', null, place);
  },
};

/**
 * @param {Record<string, string>} filter
 * @param {AbortSignal} signal
 */
function list(filter, signal) {
  return pages(
    async (token) => {
      const { dead_letters: rows, next_page_token: next } = await get(
        '/v1/dead-letters',
        { ...filter, limit: 100, page_token: token },
        signal,
      );
      return { rows, next };
    },
    (rows) =>
      table({
        caption: 'Dead letters',
        rows,
        empty: 'No dead letter waits for you.',
        columns: [
          { title: 'Event', cell: (row) => h('span.mono', null, row.event ?? 'unreadable') },
          {
            title: 'Reason',
            kind: 'grow',
            cell: (row) => [pill('bad', row.error.code), h('div', null, row.error.message)],
          },
          {
            title: 'Session',
            cell: (row) =>
              h('a.mono', { href: sessionAddress(row.workspace, row.session_id) }, row.session_id),
          },
          { title: 'Since', kind: 'time', cell: (row) => when(row.ts) },
          { title: 'Attempts', kind: 'num', cell: (row) => count(row.attempts) },
        ],
      }),
  );
}
