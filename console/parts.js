/** What pages are built of. */
import { fill, h } from './dom.js';

/** @typedef {import('./dom.js').Child} Child */

/**
 * @template R
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: R) => Child} cell
 * @property {string} [kind] `num`, `mono`, `grow`, `time`
 */

/**
 * A table that becomes a list of cards where there is no room for columns.
 *
 * @template R
 * @param {object} what
 * @param {string} what.caption for readers who do not see it
 * @param {readonly Column<R>[]} what.columns
 * @param {readonly R[]} what.rows
 * @param {Child} [what.empty]
 * @param {(row: R) => Record<string, any>} [what.row] attributes of a row
 */
export function table({
  caption,
  columns,
  rows,
  empty: none = 'Nothing here.',
  row: attributesOf,
}) {
  if (rows.length === 0) return empty(none);
  return h(
    'div.table',
    null,
    h(
      'table',
      null,
      h('caption.quiet', null, caption),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          columns.map(({ title, kind }) => h('th', { scope: 'col', class: kind }, title)),
        ),
      ),
      h(
        'tbody',
        null,
        rows.map((row) =>
          h(
            'tr',
            attributesOf?.(row) ?? null,
            columns.map(({ title, cell, kind }) =>
              h('td', { class: kind, 'data-label': title }, h('div', null, cell(row))),
            ),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {Child} text
 * @param {...Child} more
 */
export function empty(text, ...more) {
  return h('div.empty', null, h('p', null, text), more);
}

/** @param {string} [what] */
export function loading(what = 'Loading') {
  return h(
    'div.loading',
    { role: 'status' },
    h('span.spinner', { 'aria-hidden': 'true' }),
    `${what}…`,
  );
}

/**
 * @param {unknown} error
 * @param {() => void} [again]
 */
export function failure(error, again) {
  const { message = String(error), code } = /** @type {{ message?: string, code?: string }} */ (
    error ?? {}
  );
  return h(
    'div.failure',
    { role: 'alert' },
    h('p', null, message),
    code === undefined ? null : h('p.quiet', null, h('code', null, code)),
    again === undefined ? null : h('button', { type: 'button', onclick: again }, 'Try again'),
  );
}

/** @typedef {'ok' | 'warn' | 'bad' | 'info' | 'plain'} Tone */

/**
 * @param {Tone} tone
 * @param {Child} text
 * @param {string} [title]
 */
export function pill(tone, text, title) {
  return h('span.pill', { class: tone, title }, text);
}

/**
 * Names and values.
 *
 * @param {readonly (readonly [string, Child] | null | false)[]} pairs
 */
export function facts(pairs) {
  return h(
    'dl.facts',
    null,
    pairs.map((pair) => pair && h('div', null, h('dt', null, pair[0]), h('dd', null, pair[1]))),
  );
}

/**
 * @param {string} label
 * @param {Child} value
 * @param {{ note?: Child, tone?: Tone, href?: string }} [more]
 */
export function tile(label, value, { note, tone = 'plain', href } = {}) {
  const inside = [
    h('div.tile-label', null, label),
    h('div.tile-value', null, value),
    h('div.tile-note', null, note ?? '\u00a0'),
  ];
  return href === undefined
    ? h('div.tile', { class: tone }, inside)
    : h('a.tile', { class: tone, href }, inside);
}

/**
 * @param {string} title
 * @param {...Child} children
 */
export function card(title, ...children) {
  return h('section.card', { 'aria-label': title }, h('h2', null, title), children);
}

/**
 * Links that choose a part of a page.
 *
 * @param {string} label
 * @param {readonly { title: string, href: string, current: boolean }[]} items
 */
export function tabs(label, items) {
  return h(
    'nav.tabs',
    { 'aria-label': label },
    items.map(({ title, href, current }) =>
      h('a', { href, 'aria-current': current ? 'page' : undefined }, title),
    ),
  );
}

/**
 * A share of a whole as a bar, with its number beside it for those who do not see it.
 *
 * @param {number} share 0 to 1
 * @param {Tone} [tone]
 */
export function bar(share, tone = 'info') {
  const percent = Math.max(0, Math.min(1, Number.isFinite(share) ? share : 0)) * 100;
  return h(
    'div.bar',
    { 'aria-hidden': 'true' },
    h('div', { class: tone, style: { width: `${percent}%` } }),
  );
}

/** JSON for people; a long one is cut until it is asked for whole.
 * @param {unknown} value
 * @param {string} [label]
 */
export function json(value, label = 'JSON') {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const most = 20_000;
  const box = h('pre.json', { tabindex: '0', 'aria-label': label }, text.slice(0, most));
  if (text.length <= most) return box;
  const more = h(
    'button',
    { type: 'button', onclick: () => (fill(box, text), more.remove()) },
    `Show all ${text.length} characters`,
  );
  return h('div', null, box, more);
}

/** Copies a text and says so.
 * @param {string} text
 * @param {string} what
 */
export function copyButton(text, what) {
  const button = h(
    'button.small',
    {
      type: 'button',
      'aria-label': `Copy ${what}`,
      onclick: async () => {
        await navigator.clipboard.writeText(text);
        say(`Copied ${what}`);
      },
    },
    'Copy',
  );
  return button;
}

/** Tells something in the corner of the page, and to screen readers.
 * @param {string} text
 * @param {Tone} [tone]
 */
export function say(text, tone = 'ok') {
  const place = document.getElementById('says');
  // What is said already is not said twice at a time.
  if (place === null || [...place.children].some((said) => said.textContent === text)) return;
  const note = h('div.say', { class: tone }, text);
  place.append(note);
  setTimeout(() => note.remove(), 6000);
}

/**
 * Asks before anything is done that cannot be undone. The safe answer has the focus; a `word` must be typed where much is at stake.
 *
 * @param {object} what
 * @param {string} what.title
 * @param {Child} what.body
 * @param {string} what.action label of the button that does it
 * @param {string} [what.word]
 * @param {boolean} [what.danger]
 * @returns {Promise<boolean>}
 */
export function confirmAct({ title, body, action, word, danger = false }) {
  return new Promise((resolve) => {
    const go = h(
      'button',
      { value: 'go', class: danger ? 'danger' : 'primary', disabled: word !== undefined },
      action,
    );
    const typed = h('input', {
      type: 'text',
      autocomplete: 'off',
      spellcheck: 'false',
      oninput: () => {
        go.disabled = typed.value !== word;
      },
    });
    const dialog = h(
      'dialog',
      { 'aria-label': title },
      h(
        'form',
        { method: 'dialog' },
        h('h2', null, title),
        h('div.dialog-body', null, body),
        word === undefined
          ? null
          : h(
              'label.field',
              null,
              h('span', null, 'Type ', h('code', null, word), ' to go on'),
              typed,
            ),
        h('div.actions', null, h('button', { value: 'no', autofocus: true }, 'Cancel'), go),
      ),
    );
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'go');
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * Shows something beside the page; Escape closes it.
 *
 * @param {string} title
 * @param {Child} body
 */
export function drawer(title, body) {
  const dialog = h(
    'dialog.drawer',
    { 'aria-label': title },
    h(
      'div.drawer-head',
      null,
      h('h2', null, title),
      h('button.small', { type: 'button', onclick: () => dialog.close() }, 'Close'),
    ),
    h('div.drawer-body', null, body),
  );
  dialog.addEventListener('close', () => dialog.remove());
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * A button that is busy while its act runs, and tells what went wrong.
 *
 * @param {Child} label
 * @param {Record<string, any>} attributes
 * @param {() => Promise<void>} run
 */
export function actButton(label, attributes, run) {
  const button = h(
    'button',
    {
      type: 'button',
      ...attributes,
      onclick: async () => {
        button.disabled = true;
        button.setAttribute('aria-busy', 'true');
        try {
          await run();
        } catch (error) {
          say(/** @type {Error} */ (error).message, 'bad');
        } finally {
          button.disabled = false;
          button.removeAttribute('aria-busy');
        }
      },
    },
    label,
  );
  return button;
}

/**
 * A list that is loaded page by page.
 *
 * @template R
 * @param {(token: string | undefined) => Promise<{ rows: readonly R[], next?: string | undefined }>} load
 * @param {(rows: readonly R[]) => Node} render
 */
export async function pages(load, render) {
  /** @type {R[]} */
  const all = [];
  const place = h('div');
  const more = h('div.more');
  /** @param {string | undefined} token */
  const next = async (token) => {
    const page = await load(token);
    all.push(...page.rows);
    fill(place, render(all));
    fill(more, page.next === undefined ? null : actButton('Load more', {}, () => next(page.next)));
  };
  await next(undefined);
  return h('div', null, place, more);
}
