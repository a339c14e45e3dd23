/** Deletes a session for good: what would go is shown first, and a word has to be typed. */
import { api, newKey, part } from '../api.js';
import { fill, h } from '../dom.js';
import { bytes, plural } from '../format.js';
import { actButton, confirmAct, failure, loading, say } from '../parts.js';
import { needs } from '../who.js';

/** @typedef {{ workspace: string, id: string }} Named */

/** @param {Named} named */
export function deleteButton(named) {
  return actButton('Delete session…', { class: 'danger', ...needs('ops:write') }, () =>
    askAndDelete(named),
  );
}

/**
 * @param {Named} named
 * @param {Record<string, any>} more
 */
function ask({ workspace, id }, more) {
  const query = { workspace, ...more };
  return api('DELETE', `/v1/sessions/${part(id)}`, { query, key: newKey() });
}

/** @param {Named} named */
async function askAndDelete(named) {
  const withOthers = h('input', { type: 'checkbox' });
  const place = h('div', { 'aria-live': 'polite' });
  const look = async () => {
    fill(place, loading('Looking at what would go'));
    try {
      const query = { dry_run: true, ...(withOthers.checked ? { with_sub_sessions: true } : {}) };
      fill(place, wouldGo(await ask(named, query)));
    } catch (error) {
      fill(place, failure(error));
    }
  };
  withOthers.addEventListener('change', () => void look());
  await look();
  const sure = await confirmAct({
    title: 'Delete this session?',
    body: [
      h(
        'p',
        null,
        'It goes from graph, log, dead letters, large values and event ids, whole or not at all, and does not come back. What other sessions tell of it stays.',
      ),
      place,
      h('label.check', null, withOthers, 'Also the sessions below it'),
    ],
    action: 'Delete for good',
    word: 'delete',
    danger: true,
  });
  if (!sure) return;
  const done = await ask(named, withOthers.checked ? { with_sub_sessions: true } : {});
  say(`${plural(done.count, 'session')} deleted`);
  location.hash = '#/sessions';
}

/** @param {any} would */
function wouldGo({ sessions }) {
  const refused = sessions.filter((/** @type {any} */ one) => one.refused !== null);
  return h(
    'div.dialog-body',
    null,
    h(
      'ul.plain',
      null,
      sessions.map((/** @type {any} */ row) =>
        h('li', null, h('div.mono', null, row.session_id), h('div.quiet', null, tracesOf(row))),
      ),
    ),
    refused.length === 0
      ? null
      : h(
          'div.notice.warn',
          null,
          'It would be refused now: ',
          refused.map((/** @type {any} */ one) => [
            h('code', null, one.refused),
            ` (${one.session_id}) `,
          ]),
        ),
  );
}

/** @param {any} row */
function tracesOf({ accepted, dead, nodes, bytes: size, objects }) {
  return [
    plural(accepted, 'event'),
    plural(dead, 'dead letter'),
    `${plural(nodes, 'node')} (${bytes(size)})`,
    plural(objects, 'large value'),
  ].join(', ');
}
