/** Dead letters by their cause: ten kinds of trouble, not ten thousand letters. */
import { get } from '../api.js';
import { h } from '../dom.js';
import { ago, count, plural } from '../format.js';
import { actButton, bar, empty, pill, table } from '../parts.js';
import { needs } from '../who.js';
import { discardMany, requeueMany } from './dead-acts.js';

/** @param {AbortSignal} signal */
export async function groupsOf(signal) {
  const { groups, letters, omitted } = await get('/v1/dead-letters/groups', {}, signal);
  if (groups.length === 0) return empty('No dead letter waits for you.');
  return h(
    'div.page',
    null,
    h(
      'p.quiet',
      null,
      `${plural(letters, 'letter')} of ${plural(groups.length + omitted, 'cause')}. Mend the cause first, then requeue: a requeue is a new record behind all others, and nothing is applied twice.`,
    ),
    groupTable(groups, letters),
    omitted > 0
      ? h('p.quiet', null, `${plural(omitted, 'rarer cause')} not shown: look at the letters.`)
      : null,
  );
}

/**
 * @param {readonly any[]} groups
 * @param {number} letters
 */
function groupTable(groups, letters) {
  return table({
    caption: 'Causes of dead letters',
    rows: groups,
    columns: [
      {
        title: 'Cause',
        kind: 'grow',
        cell: (group) => [
          pill('bad', group.code),
          h('div', null, group.message),
          eventsOf(group.events),
        ],
      },
      {
        title: 'Letters',
        kind: 'num',
        cell: (group) => [count(group.count), bar(group.count / Math.max(1, letters), 'bad')],
      },
      { title: 'Sessions', kind: 'num', cell: (group) => count(group.sessions) },
      { title: 'First', kind: 'time', cell: (group) => ago(group.first_ts) },
      { title: 'Last', kind: 'time', cell: (group) => ago(group.last_ts) },
      { title: 'Act', cell: actsOf },
    ],
  });
}

/** @param {Record<string, number>} events */
function eventsOf(events) {
  return h(
    'div.sub',
    null,
    Object.entries(events)
      .map(([name, number]) => `${name} ${count(number)}`)
      .join(' · '),
  );
}

/** @param {any} group */
function actsOf(group) {
  const filter = { group: group.group };
  return h(
    'div.actions',
    null,
    h('a', { href: `#/dead/letters?group=${encodeURIComponent(group.group)}` }, 'Letters'),
    actButton('Requeue…', { class: 'small', ...needs('ops:write') }, () => requeueMany(filter)),
    actButton('Discard…', { class: 'small danger', ...needs('ops:write') }, () =>
      discardMany(filter),
    ),
  );
}
