/** The books of the daemon as they change, while the page can be seen; the last minutes are kept for the charts. */
import { get, send } from './api.js';
import { may } from './who.js';

/** Where there is no stream the books are asked for this often. */
const everyMs = 2000;
/** A stream that says nothing for so long is held up on its way: the daemon tells the books every ten seconds at least. */
const silentMs = 15_000;
/** After so many streams that gave nothing, a proxy is in the way and asking has to do. */
const vainMost = 3;
const keptMs = 30 * 60_000;
const keptMost = 2400;
/** A rate is told over this time. */
const rateMs = 10_000;

/** @typedef {{ at: number, accepted: number, applied: number, pending: number, oldest: number | null }} Sample */

/** @type {Sample[]} */
const samples = [];
/** @type {any} */
let latest;
/** @type {Error | undefined} */
let trouble;
/** @type {Set<() => void>} */
const watchers = new Set();
/** @type {AbortController | undefined} */
let running;
/** How the books come: `stream` or `asked`. */
let source = 'asked';

export const live = {
  /** @returns {any} */
  get status() {
    return latest;
  },
  get trouble() {
    return trouble;
  },
  get samples() {
    return samples;
  },
  get source() {
    return source;
  },
};

/**
 * @param {() => void} watcher called after every answer
 * @param {AbortSignal} signal ends it
 */
export function watch(watcher, signal) {
  watchers.add(watcher);
  signal.addEventListener('abort', () => watchers.delete(watcher));
  if (latest !== undefined) watcher();
}

export function startLive() {
  running?.abort();
  const mine = new AbortController();
  running = mine;
  void loop(mine.signal);
}

/** @param {AbortSignal} signal */
async function loop(signal) {
  let vain = 0;
  while (!signal.aborted) {
    if (document.hidden) await untilSeen(signal);
    await ask(signal);
    if (may('ops:read') && vain < vainMost && trouble === undefined)
      vain = (await follow(signal)) ? 0 : vain + 1;
    else await pause(everyMs, signal);
  }
}

/** @param {AbortSignal} signal */
async function ask(signal) {
  try {
    take(await get('/v1/status', {}, signal));
  } catch (error) {
    if (signal.aborted) return;
    trouble = /** @type {Error} */ (error);
    tell();
  }
}

/**
 * Reads the stream until it ends, is silent, or the page is hidden. An `EventSource` could not show a token.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>} it has told something
 */
async function follow(signal) {
  const mine = new AbortController();
  const stop = () => mine.abort();
  signal.addEventListener('abort', stop, { once: true });
  document.addEventListener('visibilitychange', stop, { once: true });
  let silence = setTimeout(stop, silentMs);
  let isTelling = false;
  try {
    const query = { kinds: 'books' };
    const response = await send('GET', '/v1/stream', { query, signal: mine.signal });
    for await (const books of booksOf(response)) {
      clearTimeout(silence);
      silence = setTimeout(stop, silentMs);
      isTelling = true;
      source = 'stream';
      take(books);
    }
  } catch {
    // Whatever it was, the next question tells it.
  } finally {
    clearTimeout(silence);
    signal.removeEventListener('abort', stop);
    document.removeEventListener('visibilitychange', stop);
    source = 'asked';
  }
  return isTelling || document.hidden;
}

/**
 * @param {Response} response server-sent events
 * @returns {AsyncGenerator<any>} the data of those named `books`
 */
async function* booksOf(response) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const lines = block.split('\n');
      const data = lines.find((line) => line.startsWith('data: '));
      if (lines.includes('event: books') && data !== undefined) yield JSON.parse(data.slice(6));
    }
  }
}

/** @param {any} status */
function take(status) {
  latest = status;
  trouble = undefined;
  const { accepted, applied, pending, oldest_pending_ms: oldest } = status;
  const at = Date.now();
  samples.push({ at, accepted, applied, pending, oldest });
  const isOld = samples.length > keptMost || (samples[0]?.at ?? at) < at - keptMs;
  if (isOld) samples.shift();
  tell();
}

function tell() {
  for (const watcher of watchers) watcher();
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function untilSeen(signal) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look, { once: true });
    look();
  });
}

/** Events per second between neighbouring samples; null for the first and after a restart of the daemon.
 * @param {'accepted' | 'applied'} name
 * @returns {(number | null)[]}
 */
export function ratesOf(name) {
  return samples.map((sample, at) => {
    const before = samples[at - 1];
    if (before === undefined || sample[name] < before[name]) return null;
    return ((sample[name] - before[name]) * 1000) / Math.max(1, sample.at - before.at);
  });
}

/** Mean rate over the last ten seconds or so.
 * @param {'accepted' | 'applied'} name
 * @returns {number | null}
 */
export function rateNow(name) {
  const last = samples.at(-1);
  if (last === undefined) return null;
  const first = samples.findLast((one) => one.at <= last.at - rateMs) ?? samples[0];
  if (first === undefined || last === first || last[name] < first[name]) return null;
  return ((last[name] - first[name]) * 1000) / (last.at - first.at);
}
