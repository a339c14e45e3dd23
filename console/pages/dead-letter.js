/** One letter: its error, its payload, its earlier lives, what stood beside it, and what can be done. */
import { act, get, part } from '../api.js';
import { diffLines } from '../diff.js';
import { fill, h } from '../dom.js';
import { bytes, count, when } from '../format.js';
import {
  actButton,
  card,
  confirmAct,
  empty,
  facts,
  failure,
  json,
  loading,
  pill,
  say,
  table,
} from '../parts.js';
import { sessionAddress } from '../session-words.js';
import { may, needs } from '../who.js';
import { discardMany, previewOf } from './dead-acts.js';

/**
 * @param {string} id
 * @param {AbortSignal} signal
 */
export async function letterOf(id, signal) {
  const place = h('div.page');
  const load = async () => {
    const letter = await get(`/v1/dead-letters/${part(id)}`, { neighbours: 3 }, signal);
    fill(place, partsOf(letter, load, signal));
  };
  await load();
  return place;
}

/**
 * @param {any} letter
 * @param {() => Promise<void>} load
 * @param {AbortSignal} signal
 */
function partsOf(letter, load, signal) {
  const isLive = letter.state === 'live';
  return [
    h(
      'div.failure',
      null,
      h('strong', null, letter.event ?? 'a record that cannot be read'),
      h('code', null, letter.error.code),
      letter.error.message,
    ),
    isLive
      ? acts(letter, load)
      : h(
          'div.notice',
          null,
          `This letter is settled: ${letter.state}. Its latest life is in the list below.`,
        ),
    card('About it', aboutOf(letter)),
    letter.history.length > 1 ? card('Lives', livesOf(letter, signal)) : null,
    payloadCard(letter, isLive, load),
    card('Records beside it', neighboursOf(letter)),
  ];
}

/** @param {any} letter */
function aboutOf(letter) {
  return facts([
    [
      'Session',
      h('a.mono', { href: sessionAddress(letter.workspace, letter.session_id) }, letter.session_id),
    ],
    ['Workspace', letter.workspace],
    ['Dead since', when(letter.ts)],
    ['Attempts', count(letter.attempts)],
    [
      'State',
      [
        pill(letter.state === 'live' ? 'bad' : 'plain', letter.state),
        letter.retired ? ' of a life that is over' : '',
      ],
    ],
    [
      'Cause',
      h('a', { href: `#/dead/letters?group=${part(letter.group)}` }, 'letters of the same cause'),
    ],
    ['Size', bytes(letter.bytes)],
    ['Event id', letter.event_id ?? 'none'],
    ['Position', h('span.mono', null, letter.position)],
    ['SHA-256', h('span.mono', null, letter.sha256)],
  ]);
}

/**
 * @param {any} letter
 * @param {() => Promise<void>} load
 */
function acts(letter, load) {
  return h(
    'div.actions',
    null,
    actButton('Requeue…', { class: 'primary', ...needs('ops:write') }, () => requeue(letter, load)),
    actButton('Discard…', { class: 'danger', ...needs('ops:write') }, () =>
      discardMany({ ids: [letter.id] }),
    ),
  );
}

/**
 * @param {any} letter
 * @param {() => Promise<void>} load
 * @param {string} [event] the edited event
 */
async function requeue(letter, load, event) {
  const path = `/v1/dead-letters/${part(letter.id)}/${event === undefined ? 'requeue' : 'edit'}`;
  const body = {
    ...(event === undefined ? {} : { event }),
    ...(letter.retired ? { into_current: true } : {}),
  };
  const { preview } = await act('POST', path, { ...body, dry_run: true });
  const sure = await confirmAct({
    title: event === undefined ? 'Requeue this letter?' : 'Append the edited event?',
    body: [
      previewOf(preview),
      h(
        'p.quiet',
        null,
        event === undefined
          ? 'It becomes a new record behind all others of its session.'
          : 'The original letter stays readable; the edited event has an id of its own.',
      ),
    ],
    action: event === undefined ? 'Requeue' : 'Append it',
    danger: preview.outcome !== 'applies',
  });
  if (!sure) return;
  const done = await act('POST', path, body);
  say(`Appended at ${done.position}`);
  await load();
}

/**
 * @param {any} letter
 * @param {boolean} isLive
 * @param {() => Promise<void>} load
 */
function payloadCard(letter, isLive, load) {
  if (!may('ops:write'))
    return card('Payload', empty('A payload is shown to a token with the scope ops:write.'));
  const raw = letter.payload ?? letter.payload_b64;
  if (letter.editable === undefined || !isLive)
    return card(
      'Payload',
      json(pretty(raw), 'payload'),
      letter.payload === undefined ? h('p.quiet', null, 'It is not text: shown as base64.') : null,
    );
  const before = pretty(letter.editable);
  const text = h('textarea', {
    rows: String(Math.min(24, before.split('\n').length + 1)),
    spellcheck: 'false',
    'aria-label': 'Event to append',
    value: before,
  });
  const changes = h('div', { 'aria-live': 'polite' });
  text.addEventListener('input', () =>
    fill(changes, text.value === before ? null : diffOf(before, text.value)),
  );
  return card(
    'Payload',
    text,
    changes,
    h(
      'div.actions',
      null,
      actButton('Try and append the edited event…', {}, () => requeue(letter, load, text.value)),
      h(
        'button',
        { type: 'button', onclick: () => ((text.value = before), fill(changes)) },
        'Undo the changes',
      ),
    ),
  );
}

/** What a letter was before, and became: with the difference between neighbouring lives.
 * @param {any} letter
 * @param {AbortSignal} signal
 */
function livesOf(letter, signal) {
  const lives = letter.history;
  const place = h('div', { 'aria-live': 'polite' });
  /** @param {number} at */
  const compare = async (at) => {
    fill(place, loading('Comparing'));
    try {
      const [before, after] = await Promise.all(
        [lives[at - 1], lives[at]].map((life) =>
          get(`/v1/dead-letters/${part(life.id)}`, { neighbours: 0 }, signal),
        ),
      );
      const title = `From the life of ${when(before.ts)} to that of ${when(after.ts)}`;
      fill(
        place,
        h('h3', null, title),
        errorsOf(before, after),
        diffOf(
          pretty(before.payload ?? before.payload_b64 ?? ''),
          pretty(after.payload ?? after.payload_b64 ?? ''),
        ),
      );
    } catch (error) {
      if (!signal.aborted) fill(place, failure(error));
    }
  };
  if (may('ops:write')) void compare(lives.length - 1);
  return [
    table({
      caption: 'Lives of this letter, oldest first',
      rows: /** @type {any[]} */ (lives),
      columns: [
        {
          title: 'Dead since',
          kind: 'time',
          cell: (life) =>
            life.id === letter.id
              ? h('strong', null, when(life.ts))
              : h('a', { href: `#/dead/letter/${part(life.id)}` }, when(life.ts)),
        },
        {
          title: 'Error',
          kind: 'grow',
          cell: (life) => [pill('bad', life.error.code), h('div', null, life.error.message)],
        },
        {
          title: 'State',
          cell: (life) => pill(life.state === 'live' ? 'bad' : 'plain', life.state),
        },
        { title: 'Attempts', kind: 'num', cell: (life) => count(life.attempts) },
        {
          title: 'Compare',
          cell: (life) => {
            const at = lives.indexOf(life);
            return at === 0
              ? '–'
              : actButton('With the one before', { class: 'small', ...needs('ops:write') }, () =>
                  compare(at),
                );
          },
        },
      ],
    }),
    place,
  ];
}

/**
 * @param {any} before
 * @param {any} after
 */
function errorsOf(before, after) {
  if (before.error.code === after.error.code && before.error.message === after.error.message)
    return h('p', null, 'The error is the same.');
  return diffOf(
    `${before.error.code}: ${before.error.message}`,
    `${after.error.code}: ${after.error.message}`,
  );
}

/**
 * @param {string} before
 * @param {string} after
 */
function diffOf(before, after) {
  if (before === after) return h('p.quiet', null, 'The payload is the same.');
  const marks = { same: ' ', gone: '−', new: '+' };
  return h(
    'div.diff',
    { role: 'region', 'aria-label': 'Difference', tabindex: '0' },
    diffLines(before, after).map(({ kind, text }) =>
      h('div', { class: kind }, `${marks[kind]} ${text}`),
    ),
  );
}

/** JSON with line breaks where it is JSON.
 * @param {string} text
 */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @param {any} letter */
function neighboursOf({ neighbours, position, event }) {
  if (neighbours === null)
    return empty('The log of this session does not hold their place any more.');
  const rows = [
    ...neighbours.before,
    { position, event, state: 'this letter' },
    ...neighbours.after,
  ];
  return table({
    caption: 'Records before and after this letter',
    rows,
    columns: [
      { title: 'Event', cell: (row) => h('span.mono', null, row.event ?? 'unreadable') },
      {
        title: 'State',
        cell: (row) =>
          pill(
            row.state === 'applied' ? 'ok' : row.state === 'pending' ? 'info' : 'bad',
            row.state,
          ),
      },
      { title: 'Accepted', kind: 'time', cell: (row) => when(row.accepted_at) },
      { title: 'Data', kind: 'grow', cell: (row) => h('span.mono', null, row.preview ?? '') },
    ],
  });
}
