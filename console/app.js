/** The frame: who is here, where to go, and the page that the address names. */
import { api, gate, keepToken, token } from './api.js';
import { append, fill, h } from './dom.js';
import { count } from './format.js';
import { live, startLive, watch } from './live.js';
import { failure, loading, pill } from './parts.js';
import { may, setWho, who } from './who.js';
import { page as dead } from './pages/dead.js';
import { page as overview } from './pages/overview.js';
import { page as quarantine } from './pages/quarantine.js';
import { page as query } from './pages/query.js';
import { page as session } from './pages/session.js';
import { page as sessions } from './pages/sessions.js';
import { page as settings } from './pages/settings.js';
import { showTheme } from './theme.js';

/**
 * @typedef {object} Visit
 * @property {string[]} path parts of the address behind the page's own
 * @property {URLSearchParams} query
 * @property {AbortSignal} signal aborted when the visitor goes elsewhere
 *
 * @typedef {object} Page
 * @property {string} title
 * @property {string} scope without it there is nothing to show
 * @property {(visit: Visit) => Node | Promise<Node>} render
 */

/** @type {readonly { name: string, key: string, page: Page }[]} */
const menu = [
  { name: 'overview', key: 'o', page: overview },
  { name: 'sessions', key: 's', page: sessions },
  { name: 'dead', key: 'd', page: dead },
  { name: 'quarantine', key: 'q', page: quarantine },
  { name: 'query', key: 'c', page: query },
  { name: 'settings', key: 't', page: settings },
];

/** @type {Record<string, Page>} */
const routes = { ...Object.fromEntries(menu.map(({ name, page }) => [name, page])), session };

const app = /** @type {HTMLElement} */ (document.getElementById('app'));
let visit = new AbortController();
let framed = new AbortController();

/** The address behind `#/`, taken apart. */
function here() {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const [name = '', ...rest] = path.split('/').map(decodeURIComponent);
  return { name: name === '' ? 'overview' : name, path: rest, query: new URLSearchParams(search) };
}

async function start() {
  showTheme();
  fill(app, loading('Asking who you are'));
  try {
    setWho(await api('GET', '/v1/whoami'));
  } catch (error) {
    const { status } = /** @type {{ status?: number }} */ (error);
    if (status === 401)
      signIn(token() === '' ? undefined : 'This token is not known, or has expired.');
    else
      fill(
        app,
        h(
          'main.alone',
          null,
          failure(error, () => void start()),
        ),
      );
    return;
  }
  startLive();
  frame();
  await show(false);
}

/** @param {string} [trouble] */
function signIn(trouble) {
  setWho(undefined);
  keepToken('');
  visit.abort();
  const secret = h('input', {
    type: 'password',
    id: 'token',
    autocomplete: 'off',
    required: true,
    spellcheck: 'false',
  });
  fill(
    app,
    h(
      'main.alone',
      { id: 'main' },
      h(
        'form.card.sign-in',
        {
          onsubmit: (/** @type {Event} */ event) => {
            event.preventDefault();
            keepToken(secret.value.trim());
            void start();
          },
        },
        h('h1', null, brand(), ' millrace'),
        h('p', null, 'This daemon asks for a token.'),
        trouble === undefined ? null : h('p.failure', { role: 'alert' }, trouble),
        h('label.field', { for: 'token' }, h('span', null, 'Token'), secret),
        h('button.primary', { type: 'submit' }, 'Sign in'),
        h(
          'p.quiet',
          null,
          'It is kept in this tab alone and is gone when you close it. A token to look and act: ',
          h('code', null, 'millrace tokens add NAME --scope ingest:read ops:read ops:write'),
        ),
      ),
    ),
  );
  secret.focus();
}

function brand() {
  return h('img.brand', { src: '/console/icon.svg', alt: '', width: '28', height: '28' });
}

/** Everything that stays while pages change. */
function frame() {
  const links = h(
    'ul',
    null,
    menu
      .filter(({ page }) => may(page.scope))
      .map(({ name, key, page }) =>
        h(
          'li',
          null,
          h(
            'a',
            { href: `#/${name}`, 'data-name': name, 'aria-keyshortcuts': `g ${key}` },
            page.title,
            h('span.waiting', { 'data-waits': name }),
          ),
        ),
      ),
  );
  const toggle = h(
    'button.small.menu',
    { type: 'button', 'aria-expanded': 'false', 'aria-controls': 'nav' },
    'Menu',
  );
  const nav = h('nav.main', { id: 'nav', 'aria-label': 'Pages' }, links, whoIsHere());
  toggle.addEventListener('click', () => {
    const isOpen = nav.classList.toggle('open');
    toggle.setAttribute('aria-expanded', String(isOpen));
  });
  const health = h('div.health', { role: 'status', 'aria-label': 'State of the daemon' });
  framed.abort();
  framed = new AbortController();
  const tell = () => {
    fill(health, healthNow());
    tellWaiting(links);
  };
  watch(tell, framed.signal);
  fill(
    app,
    h(
      'header.top',
      null,
      h(
        'a.home',
        { href: '#/overview', 'aria-label': 'millrace, overview' },
        brand(),
        h('span', null, 'millrace'),
      ),
      health,
      toggle,
    ),
    nav,
    h('main', { id: 'main', tabindex: '-1' }),
  );
}

function whoIsHere() {
  const me = who();
  if (me === undefined) return null;
  if (!me.authenticated)
    return h('div.me.quiet', null, 'No token is needed on this machine while none exists.');
  return h(
    'div.me',
    null,
    h('div.quiet', null, 'Signed in as'),
    h('div.mono', null, me.id),
    h('button.small', { type: 'button', onclick: () => signIn() }, 'Sign out'),
  );
}

/**
 * What waits for an operator, beside the page where it can be seen to.
 *
 * @param {HTMLElement} links
 */
function tellWaiting(links) {
  const { dead: letters = 0, quarantined = 0 } = live.status ?? {};
  for (const [name, number] of Object.entries({ dead: letters, quarantine: quarantined })) {
    const place = links.querySelector(`[data-waits="${name}"]`);
    if (place !== null) fill(place, number > 0 ? pill('bad', count(number)) : null);
  }
}

function healthNow() {
  const { status, trouble } = live;
  if (trouble !== undefined) return pill('bad', 'does not answer', trouble.message);
  if (status === undefined) return pill('plain', '…');
  if (status.degraded.length > 0)
    return pill(
      'warn',
      `${status.state}, degraded`,
      status.degraded.map((/** @type {any} */ one) => one.message).join('\n'),
    );
  return pill(status.state === 'ready' ? 'ok' : 'info', status.state);
}

/** @param {boolean} isMoving the visitor came from another page: the heading gets the focus, as after a load */
async function show(isMoving) {
  if (who() === undefined) return;
  visit.abort();
  visit = new AbortController();
  const { signal } = visit;
  const { name, path, query } = here();
  const main = /** @type {HTMLElement} */ (document.getElementById('main'));
  const page = routes[name];
  document.getElementById('nav')?.classList.remove('open');
  document.querySelector('.menu')?.setAttribute('aria-expanded', 'false');
  for (const link of document.querySelectorAll('nav.main a')) {
    const isCurrent = link.getAttribute('data-name') === (name === 'session' ? 'sessions' : name);
    if (isCurrent) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (page === undefined)
    return void fill(
      main,
      h('h1', null, 'No such page'),
      h('p', null, h('a', { href: '#/overview' }, 'Go to the overview')),
    );
  document.title = `${page.title} · millrace`;
  const heading = h('h1', { tabindex: '-1' }, page.title);
  const place = h('div.page', null, loading());
  fill(main, heading, place);
  if (isMoving) heading.focus();
  if (!may(page.scope))
    return void fill(
      place,
      failure(new Error(`This page needs a token with the scope ${page.scope}.`)),
    );
  try {
    const content = await page.render({ path, query, signal });
    if (signal.aborted) return;
    fill(place);
    append(place, [content]);
  } catch (error) {
    if (!signal.aborted)
      fill(
        place,
        failure(error, () => void show(false)),
      );
  }
}

/** `g s` goes to the sessions, `/` to the first search field, `?` tells the keys. */
function listenForKeys() {
  let isGoing = false;
  document.addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      target.closest('input, textarea, select, dialog') !== null
    )
      return;
    if (isGoing) {
      isGoing = false;
      const entry = menu.find(({ key, page }) => key === event.key && may(page.scope));
      if (entry !== undefined) location.hash = `#/${entry.name}`;
    } else if (event.key === 'g') isGoing = true;
    else if (event.key === '/') {
      const field = /** @type {HTMLElement | null} */ (
        document.querySelector('main input[type=search]')
      );
      if (field === null) return;
      event.preventDefault();
      field.focus();
    }
  });
}

gate.addEventListener('denied', () => {
  if (who() !== undefined) signIn('The token is no longer accepted.');
});
window.addEventListener('hashchange', () => void show(true));
listenForKeys();
void start();
