/** The public HTTP API, and nothing else. The token stays in this tab: no cookie, so no other site can use it. */

const tokenName = 'millrace.token';

export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {any} details
   */
  constructor(status, code, message, details) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** @returns {string} */
export function token() {
  return sessionStorage.getItem(tokenName) ?? '';
}

/** @param {string} secret */
export function keepToken(secret) {
  if (secret === '') sessionStorage.removeItem(tokenName);
  else sessionStorage.setItem(tokenName, secret);
}

/** Fires `denied` when the daemon wants a (better) token. */
export const gate = new EventTarget();

/**
 * @typedef {object} Call
 * @property {Record<string, any>} [query] members that are undefined or '' are left out
 * @property {any} [body]
 * @property {AbortSignal | undefined} [signal]
 * @property {string} [key] Idempotency-Key: the same act twice is done once
 */

/**
 * @param {string} method
 * @param {string} path
 * @param {Call} [call]
 * @returns {Promise<Response>}
 */
export async function send(method, path, { query = {}, body, signal, key } = {}) {
  const pairs = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== '' && value !== null,
  );
  const search = new URLSearchParams(
    pairs.map(([name, value]) => [name, String(value)]),
  ).toString();
  const headers = new Headers();
  if (token() !== '') headers.set('authorization', `Bearer ${token()}`);
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (key !== undefined) headers.set('idempotency-key', key);
  let response;
  try {
    response = await fetch(search === '' ? path : `${path}?${search}`, {
      method,
      headers,
      credentials: 'omit',
      redirect: 'error',
      cache: 'no-store',
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'UNREACHABLE', 'The daemon does not answer. Is it running?', undefined);
  }
  if (response.ok) return response;
  const failure = await failureOf(response);
  if (response.status === 401) gate.dispatchEvent(new Event('denied'));
  throw failure;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Call} [call]
 * @returns {Promise<any>}
 */
export async function api(method, path, call) {
  const response = await send(method, path, call);
  const text = await response.text();
  return text === '' ? undefined : JSON.parse(text);
}

/**
 * @param {string} path
 * @param {Record<string, any>} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function get(path, query = {}, signal) {
  return api('GET', path, { query, signal });
}

/** An act: named, so that a repeated click or a lost answer does nothing twice.
 * @param {string} method
 * @param {string} path
 * @param {any} [body]
 * @returns {Promise<any>}
 */
export function act(method, path, body) {
  return api(method, path, { ...(body === undefined ? {} : { body }), key: newKey() });
}

/** @returns {string} */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
async function failureOf(response) {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text);
    return new ApiError(response.status, error.code, error.message, error.details);
  } catch {
    return new ApiError(
      response.status,
      'ANSWER_UNREADABLE',
      `The daemon answered ${response.status}.`,
      undefined,
    );
  }
}

/** A text as one part of a path.
 * @param {string} text
 */
export function part(text) {
  return encodeURIComponent(text);
}
