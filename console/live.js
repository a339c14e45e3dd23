/** The books of the daemon, asked for again and again while the page can be seen; the last minutes are kept for the charts. */
import { get } from './api.js';

const everyMs = 2000;
const keptMax = 900;

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
  document.addEventListener('visibilitychange', () => void (document.hidden || ask(mine.signal)), {
    signal: mine.signal,
  });
}

/** @param {AbortSignal} signal */
async function loop(signal) {
  while (!signal.aborted) {
    if (!document.hidden) await ask(signal);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** @param {AbortSignal} signal */
async function ask(signal) {
  try {
    latest = await get('/v1/status', {}, signal);
    trouble = undefined;
    const { accepted, applied, pending, oldest_pending_ms: oldest } = latest;
    samples.push({ at: Date.now(), accepted, applied, pending, oldest });
    if (samples.length > keptMax) samples.shift();
  } catch (error) {
    if (signal.aborted) return;
    trouble = /** @type {Error} */ (error);
  }
  for (const watcher of watchers) watcher();
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
  const first = samples.at(-Math.min(samples.length, 6));
  if (last === undefined || first === undefined || last === first || last[name] < first[name])
    return null;
  return ((last[name] - first[name]) * 1000) / (last.at - first.at);
}
