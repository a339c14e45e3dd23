/** Who uses the page, and what the token may do. */

/** @typedef {{ id: string, authenticated: boolean, scopes: string[], workspaces: string[] | null }} Who */

/** @type {Who | undefined} */
let current;

/** @param {Who | undefined} who */
export function setWho(who) {
  current = who;
}

/** @returns {Who | undefined} */
export function who() {
  return current;
}

/** @param {string} scope */
export function may(scope) {
  return current?.scopes.includes(scope) ?? false;
}

/** Attributes of a control that needs a scope: switched off, and saying why, where the token has it not.
 * @param {string} scope
 * @returns {{ disabled?: boolean, title?: string }}
 */
export function needs(scope) {
  return may(scope) ? {} : { disabled: true, title: `Needs a token with the scope ${scope}` };
}
