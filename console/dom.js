/**
 * Elements without a framework. Text only ever becomes a text node, so nothing that a client stored can become markup.
 *
 * @typedef {Node | string | number | null | undefined | false | readonly Child[]} Child
 */

/**
 * `h('button.primary', { type: 'button', onclick: run }, 'Run')`
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T | `${T}.${string}`} tag
 * @param {Record<string, any> | null} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = /** @type {any} */ (document.createElement(/** @type {string} */ (name)));
  if (classes.length > 0) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes ?? {})) setAttribute(element, key, value);
  append(element, children);
  return element;
}

/**
 * @param {any} element
 * @param {string} key
 * @param {any} value
 */
function setAttribute(element, key, value) {
  if (value === undefined || value === null || value === false) return;
  if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
  else if (key === 'class') element.className = `${element.className} ${value}`.trim();
  else if (key === 'style')
    for (const [rule, one] of Object.entries(value)) element.style.setProperty(rule, one);
  else if (key === 'value' || key === 'checked' || key === 'open') element[key] = value;
  else element.setAttribute(key, value === true ? '' : String(value));
}

/**
 * @param {Node} parent
 * @param {readonly Child[]} children
 */
export function append(parent, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child);
    else if (child instanceof Node) parent.appendChild(child);
    else if (typeof child === 'string' || typeof child === 'number')
      parent.appendChild(document.createTextNode(`${child}`));
  }
}

/**
 * Puts new children in place of the old ones.
 *
 * @template {Element} E
 * @param {E} parent
 * @param {...Child} children
 * @returns {E}
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
  return parent;
}

/** A colour of the present theme, for what is drawn on a canvas.
 * @param {string} name
 */
export function themeColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
