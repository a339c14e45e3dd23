/** The settings in force with where they come from, tokens, limits, and how the page looks. */
import { act, get, part } from '../api.js';
import { fill, h } from '../dom.js';
import { bytes, when } from '../format.js';
import {
  actButton,
  card,
  confirmAct,
  copyButton,
  facts,
  failure,
  loading,
  pill,
  say,
  table,
} from '../parts.js';
import { keepTheme, theme } from '../theme.js';
import { may, needs, who } from '../who.js';

const scopes = ['ingest:write', 'ingest:read', 'ops:read', 'ops:write'];

/** @type {import('../app.js').Page} */
export const page = {
  title: 'Settings',
  scope: 'ingest:read',
  render({ signal }) {
    return h(
      'div',
      null,
      h('div.columns', null, card('You', meOf()), card('Appearance', appearance())),
      may('ops:read')
        ? [card('Tokens', late(signal, tokensOf)), card('Configuration', late(signal, configOf))]
        : h(
            'p.quiet',
            null,
            'Tokens and configuration are shown to a token with the scope ops:read.',
          ),
      h(
        'div.columns',
        null,
        card('Limits', late(signal, limitsOf)),
        card('Versions', late(signal, versionsOf)),
      ),
    );
  },
};

/**
 * A part that loads by itself and can be loaded again.
 *
 * @param {AbortSignal} signal
 * @param {(signal: AbortSignal, again: () => Promise<void>) => Promise<Node>} load
 */
function late(signal, load) {
  const place = h('div', null, loading());
  const again = async () => {
    try {
      fill(place, await load(signal, again));
    } catch (error) {
      if (!signal.aborted)
        fill(
          place,
          failure(error, () => void again()),
        );
    }
  };
  void again();
  return place;
}

function meOf() {
  const me = who();
  if (me === undefined) return null;
  return facts([
    ['Name', me.id],
    [
      'Token',
      me.authenticated
        ? 'in this tab alone, until it is closed'
        : 'none is needed while none exists',
    ],
    ['Workspaces', me.workspaces === null ? 'all' : me.workspaces.join(', ')],
    [
      'Scopes',
      h(
        'div.pills',
        null,
        me.scopes.filter((scope) => scopes.includes(scope)).map((scope) => pill('info', scope)),
      ),
    ],
  ]);
}

function appearance() {
  const pick = h(
    'select',
    { onchange: () => (keepTheme(pick.value), location.reload()) },
    [
      ['', 'As the system has it'],
      ['light', 'Light'],
      ['dark', 'Dark'],
    ].map(([value, title]) => h('option', { value, selected: value === theme() }, title)),
  );
  return h(
    'div.page',
    null,
    h('label.field', null, h('span', null, 'Colours'), pick),
    h(
      'p.quiet',
      null,
      'Keys: ',
      h('code', null, 'g'),
      ' and then ',
      h('code', null, 'o s d q c t'),
      ' opens a page; ',
      h('code', null, '/'),
      ' goes to the search field.',
    ),
  );
}

/**
 * @param {AbortSignal} signal
 * @param {() => Promise<void>} again
 */
async function tokensOf(signal, again) {
  const { tokens } = await get('/v1/tokens', {}, signal);
  return h(
    'div.page',
    null,
    table({
      caption: 'Tokens',
      rows: tokens,
      empty:
        'There is no token yet: on this machine nobody needs one. The first one that is made must have ops:write; from then on everybody needs one.',
      columns: [
        { title: 'Name', cell: (row) => row.name },
        {
          title: 'Scopes',
          kind: 'grow',
          cell: (row) =>
            h(
              'div.pills',
              null,
              row.scopes.map((/** @type {string} */ scope) => pill('plain', scope)),
            ),
        },
        { title: 'Workspaces', cell: (row) => row.workspaces?.join(', ') ?? 'all' },
        { title: 'Made', kind: 'time', cell: (row) => when(row.created_at) },
        {
          title: 'Expires',
          kind: 'time',
          cell: (row) => (row.expires_at === null ? 'never' : when(row.expires_at)),
        },
        {
          title: 'Act',
          cell: (row) =>
            actButton('Revoke', { class: 'small danger', ...needs('ops:write') }, () =>
              revoke(row.name, again),
            ),
        },
      ],
    }),
    newToken(again),
  );
}

/**
 * @param {string} name
 * @param {() => Promise<void>} again
 */
async function revoke(name, again) {
  const isMine = name === who()?.id;
  const sure = await confirmAct({
    title: `Revoke ${name}?`,
    body: [
      h(
        'p',
        null,
        'Whoever uses it is refused from now on. It cannot be undone: a new token has another secret.',
      ),
      isMine
        ? h('p', null, h('strong', null, 'It is the token of this page: you will be signed out.'))
        : null,
    ],
    action: 'Revoke',
    word: name,
    danger: true,
  });
  if (!sure) return;
  await act('DELETE', `/v1/tokens/${part(name)}`);
  say(`Revoked ${name}`);
  await again();
}

/** @param {() => Promise<void>} again */
function newToken(again) {
  const name = h('input', {
    type: 'text',
    required: true,
    maxlength: '128',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const workspaces = h('input', { type: 'text', placeholder: 'all', spellcheck: 'false' });
  const expires = h('input', { type: 'date' });
  const boxes = scopes.map((scope) => ({
    scope,
    box: h('input', { type: 'checkbox', checked: scope.startsWith('ingest') }),
  }));
  const secret = h('div', { 'aria-live': 'polite' });
  return h(
    'form.page',
    {
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        const names = workspaces.value
          .split(',')
          .map((one) => one.trim())
          .filter((one) => one !== '');
        try {
          const made = await act('POST', '/v1/tokens', {
            name: name.value.trim(),
            scopes: boxes.filter(({ box }) => box.checked).map(({ scope }) => scope),
            ...(names.length === 0 ? {} : { workspaces: names }),
            ...(expires.value === '' ? {} : { expires_at: `${expires.value}T23:59:59Z` }),
          });
          fill(
            secret,
            h(
              'div.notice',
              null,
              h('strong', null, `Token ${made.name}: copy it now, it is shown this once.`),
              h('code', null, made.token),
              copyButton(made.token, 'the token'),
            ),
          );
          name.value = '';
          await again();
        } catch (error) {
          fill(secret, failure(error));
        }
      },
    },
    h('h3', null, 'New token'),
    h(
      'div.filters',
      null,
      h('label.field', null, h('span', null, 'Name'), name),
      h('label.field', null, h('span', null, 'Workspaces, by commas'), workspaces),
      h('label.field', null, h('span', null, 'Expires at the end of'), expires),
    ),
    h(
      'div.actions',
      { role: 'group', 'aria-label': 'Scopes' },
      boxes.map(({ scope, box }) => h('label.check', null, box, scope)),
    ),
    h(
      'div.actions',
      null,
      h('button.primary', { type: 'submit', ...needs('ops:write') }, 'Make a token'),
    ),
    secret,
  );
}

/**
 * @param {AbortSignal} signal
 * @param {() => Promise<void>} again
 */
async function configOf(signal, again) {
  const { settings } = await get('/v1/config', {}, signal);
  const filter = h('input', {
    type: 'search',
    placeholder: 'part of a key or of its help',
    spellcheck: 'false',
  });
  const changed = h('input', { type: 'checkbox' });
  const place = h('div');
  const draw = () => {
    const text = filter.value.trim().toLowerCase();
    const rows = settings.filter(
      (/** @type {any} */ one) =>
        `${one.key} ${one.help}`.toLowerCase().includes(text) &&
        (!changed.checked || one.origin !== 'default'),
    );
    fill(
      place,
      table({
        caption: 'Settings in force',
        rows,
        empty: 'No setting is like this.',
        columns: [
          {
            title: 'Key',
            kind: 'grow',
            cell: (row) => [h('code', null, row.key), h('div.sub', null, row.help)],
          },
          { title: 'Value', cell: (row) => [h('code', null, shown(row.value)), sizeOf(row)] },
          {
            title: 'From',
            cell: (row) => pill(row.origin === 'default' ? 'plain' : 'info', row.origin),
          },
          { title: 'Change', cell: (row) => (row.live ? 'at a reload' : 'at a restart') },
        ],
      }),
    );
  };
  filter.addEventListener('input', draw);
  changed.addEventListener('change', draw);
  draw();
  return h(
    'div.page',
    null,
    h(
      'div.filters',
      null,
      h('label.field', null, h('span', null, 'Filter'), filter),
      h('label.check', null, changed, 'Only what is not the default'),
      actButton('Reload the configuration', needs('ops:write'), () => reload(again)),
    ),
    place,
  );
}

/** @param {() => Promise<void>} again */
async function reload(again) {
  const sure = await confirmAct({
    title: 'Reload the configuration?',
    body: h(
      'p',
      null,
      'File and environment are read again. What can change now changes; the rest waits for a restart. A mistake changes nothing.',
    ),
    action: 'Reload',
  });
  if (!sure) return;
  const { applied, needs_restart: later } = await act('POST', '/v1/config/reload', {});
  say(`${applied.length} changed, ${later.length} wait for a restart`);
  await again();
}

/** @param {any} row */
function sizeOf({ key, value }) {
  return typeof value === 'number' && key.endsWith('_bytes') && value > 1024
    ? h('div.sub', null, bytes(value))
    : null;
}

/** @param {unknown} value */
function shown(value) {
  if (value === null || value === '') return '–';
  return Array.isArray(value) ? value.join(', ') || '–' : `${/** @type {string} */ (value)}`;
}

/** @param {AbortSignal} signal */
async function limitsOf(signal) {
  const { fsync, limits } = await get('/v1/limits', {}, signal);
  return facts([
    ['fsync', fsync],
    ...Object.entries(limits).map(
      ([key, value]) => /** @type {[string, string]} */ ([key, shown(value)]),
    ),
  ]);
}

/** @param {AbortSignal} signal */
async function versionsOf(signal) {
  return facts(
    Object.entries(await get('/v1/version', {}, signal)).map(([key, value]) => [
      key.replaceAll('_', ' '),
      String(value),
    ]),
  );
}
