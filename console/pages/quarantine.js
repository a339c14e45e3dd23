/** Sessions that damage has stopped, and the ways out. Nothing is done before it was shown. */
import { act, get, part } from '../api.js';
import { fill, h } from '../dom.js';
import { bytes, count, plural, when } from '../format.js';
import {
  actButton,
  card,
  confirmAct,
  empty,
  facts,
  failure,
  loading,
  pages,
  pill,
  say,
  table,
} from '../parts.js';
import { sessionLink } from '../session-words.js';
import { needs } from '../who.js';

/** @type {Record<string, { title: string, danger: boolean }>} */
const words = {
  keep: { title: 'Its files were put right: go on with them', danger: false },
  'offset-from-preserved': { title: 'Take a preserved position', danger: false },
  'restart-log': { title: 'Drain its log from the beginning', danger: false },
  'pass-over': { title: 'Pass over the damaged ranges', danger: true },
  'skip-to-end': { title: 'Make all that waits dead letters', danger: true },
};

/** @type {import('../app.js').Page} */
export const page = {
  title: 'Quarantine',
  scope: 'ops:read',
  render({ path: [workspace, session], signal }) {
    return workspace === undefined || session === undefined
      ? list(signal)
      : one(workspace, session, signal);
  },
};

/** @param {AbortSignal} signal */
async function list(signal) {
  return h(
    'div',
    null,
    h(
      'p.quiet',
      null,
      'A session stands here when its stored state is damaged. New events of it are accepted and wait; all other sessions go on.',
    ),
    await pages(
      async (token) => {
        const { quarantine, next_page_token: next } = await get(
          '/v1/quarantine',
          { limit: 100, page_token: token },
          signal,
        );
        return { rows: quarantine, next };
      },
      (rows) =>
        table({
          caption: 'Sessions in quarantine',
          rows,
          empty: 'No session is in quarantine.',
          columns: [
            {
              title: 'Session',
              kind: 'grow',
              cell: (row) => [
                h(
                  'a.mono',
                  { href: `#/quarantine/${part(row.workspace)}/${part(row.session_id)}` },
                  row.session_id,
                ),
                h('div.sub', null, row.workspace),
              ],
            },
            {
              title: 'Reason',
              kind: 'grow',
              cell: (row) => [pill('bad', row.code), h('div', null, row.message)],
            },
            { title: 'Since', kind: 'time', cell: (row) => when(row.since) },
            {
              title: 'Waiting',
              kind: 'num',
              cell: (row) => [count(row.pending), h('div.sub', null, bytes(row.backlog_bytes))],
            },
          ],
        }),
    ),
  );
}

/**
 * @param {string} workspace
 * @param {string} session
 * @param {AbortSignal} signal
 */
async function one(workspace, session, signal) {
  const place = h('div', null, loading());
  const load = async () => {
    try {
      const found = await get(`/v1/quarantine/${part(session)}`, { workspace }, signal);
      fill(place, detailOf(found, load));
    } catch (error) {
      const { code } = /** @type {{ code?: string }} */ (error);
      if (signal.aborted) return;
      fill(
        place,
        code === 'QUARANTINE_UNKNOWN'
          ? empty(
              'This session is not in quarantine any more.',
              h('p', null, sessionLink({ workspace, session_id: session })),
            )
          : failure(error, () => void load()),
      );
    }
  };
  await load();
  return h(
    'div',
    null,
    h('p', null, h('a', { href: '#/quarantine' }, 'All sessions in quarantine')),
    place,
  );
}

/**
 * @param {any} found
 * @param {() => Promise<void>} load
 */
function detailOf(found, load) {
  return h(
    'div.page',
    null,
    h(
      'div.failure',
      null,
      h('strong', null, found.session_id),
      h('code', null, found.code),
      found.message,
    ),
    card('What is known', knownOf(found)),
    card('Ways out', waysOf(found, load)),
  );
}

/** @param {any} found */
function knownOf(found) {
  const damage = found.damage.map(
    (/** @type {any} */ { from, to }) => `${count(from)} to ${count(to)}`,
  );
  const more = found.damage_count - found.damage.length;
  return facts([
    ['Workspace', found.workspace],
    ['Since', when(found.since)],
    ['Waiting', `${plural(found.pending, 'record')}, ${bytes(found.backlog_bytes)}`],
    [
      'Damaged bytes',
      found.damage_count === 0
        ? 'none in the log'
        : `${damage.join(', ')}${more > 0 ? ` and ${more} ranges more` : ''}`,
    ],
    ['Position record', found.record_fault ?? 'sound'],
    ['Letters that cannot be read', count(found.unparsed_letters)],
    ['Committed up to', h('span.mono', null, found.committed)],
    ['Folder', h('span.mono', null, found.folder)],
    [
      'Preserved files',
      found.preserved.length === 0
        ? 'none'
        : found.preserved.map((/** @type {any} */ { name, bytes: size }) =>
            h('div.mono', null, `${name} (${bytes(size)})`),
          ),
    ],
  ]);
}

/**
 * @param {any} found
 * @param {() => Promise<void>} load
 */
function waysOf(found, load) {
  return table({
    caption: 'Ways out of this quarantine',
    rows: /** @type {any[]} */ (found.ways),
    columns: [
      {
        title: 'Way',
        cell: (row) => [
          h('strong', null, words[row.mode]?.title ?? row.mode),
          h('div.sub', null, h('code', null, row.mode)),
        ],
      },
      { title: 'What it does', kind: 'grow', cell: (row) => row.reason },
      {
        title: 'Act',
        cell: (row) =>
          row.applies
            ? actButton(
                'Look and decide',
                { class: words[row.mode]?.danger ? 'danger' : '', ...needs('ops:write') },
                () => take(found, row.mode, load),
              )
            : h('span.quiet', null, 'does not apply'),
      },
    ],
  });
}

/**
 * The dry run first, then the question, then the act.
 *
 * @param {any} found
 * @param {string} mode
 * @param {() => Promise<void>} load
 */
async function take(found, mode, load) {
  const path = `/v1/quarantine/${part(found.session_id)}/clear`;
  const body = { workspace: found.workspace, mode };
  const would = await act('POST', path, { ...body, dry_run: true });
  const isLoss = mode === 'skip-to-end' || mode === 'pass-over';
  /** @type {{ name: string }[]} */
  const preserved = mode === 'offset-from-preserved' ? found.preserved : [];
  const file = h(
    'select',
    null,
    preserved.map(({ name }) => h('option', { value: name }, name)),
  );
  const sure = await confirmAct({
    title: words[mode]?.title ?? mode,
    body: [
      h('p', null, would.effect),
      preserved.length === 0
        ? null
        : h('label.field', null, h('span', null, 'Preserved file'), file),
      facts([
        ['Records that become dead letters', count(would.dead_records)],
        ['Records that wait', count(would.pending)],
      ]),
      isLoss
        ? h(
            'p.quiet',
            null,
            'The bytes are kept: dead letters can be read, and evidence stays in the folder.',
          )
        : null,
    ],
    action: 'Do it',
    danger: isLoss,
    ...(isLoss ? { word: found.key } : {}),
  });
  if (!sure) return;
  const done = await act('POST', path, {
    ...body,
    confirm: found.key,
    ...(preserved.length === 0 ? {} : { file: file.value }),
  });
  say(`Done: ${plural(done.dead_records, 'record')} became dead letters`);
  await load();
}
