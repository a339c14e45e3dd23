/** How the daemon is, in ten seconds. */
import { get } from '../api.js';
import { chart } from '../chart.js';
import { fill, h } from '../dom.js';
import { ago, bytes, count, duration, rate, when } from '../format.js';
import { live, rateNow, ratesOf, watch } from '../live.js';
import { bar, card, empty, facts, failure, loading, pill, table, tile } from '../parts.js';
import { sessionLink, stateOf } from '../session-words.js';
import { may } from '../who.js';

/** @type {import('../app.js').Page} */
export const page = {
  title: 'Overview',
  scope: 'ingest:read',
  render({ signal }) {
    const tiles = h('div.tiles');
    const troubles = h('div');
    const rates = chart({
      label: 'Events per second, accepted and applied',
      lines: [
        { label: 'accepted/s', color: 'accent' },
        { label: 'applied/s', color: 'ok' },
      ],
      format: rate,
      signal,
    });
    const waiting = chart({
      label: 'Records that wait to be applied',
      lines: [{ label: 'pending', color: 'warn' }],
      format: count,
      signal,
    });
    const disk = h('div');
    const workers = h('div');
    watch(() => {
      const { status, trouble } = live;
      if (trouble !== undefined) fill(troubles, failure(trouble));
      if (status === undefined) return;
      fill(tiles, tilesOf(status));
      if (trouble === undefined) fill(troubles, troublesOf(status));
      fill(disk, diskOf(status));
      fill(workers, workersOf(status));
      const at = live.samples.map((sample) => sample.at);
      rates.draw(at, [ratesOf('accepted'), ratesOf('applied')]);
      waiting.draw(at, [live.samples.map(({ pending }) => pending)]);
    }, signal);
    return h(
      'div',
      null,
      troubles,
      tiles,
      h('div.columns', null, card('Throughput', rates.element), card('Backlog', waiting.element)),
      h('div.columns', null, card('Disk', disk), card('Drain', workers)),
      card('Latest sessions', latestSessions(signal)),
    );
  },
};

/** @param {any} status */
function tilesOf(status) {
  const lag = status.oldest_pending_ms;
  return [
    tile('Accepted', `${rate(rateNow('accepted'))}/s`, {
      note: `${count(status.accepted)} in all`,
      tone: 'info',
    }),
    tile('Applied', `${rate(rateNow('applied'))}/s`, {
      note: `${count(status.applied)} in all`,
      tone: 'info',
    }),
    tile('Pending', count(status.pending), {
      note: bytes(status.backlog_bytes),
      tone: status.pending > 0 ? 'info' : 'ok',
      href: '#/sessions?state=backlog',
    }),
    tile('Oldest pending', lag === null ? 'none' : duration(lag), {
      note: 'lag of the graph',
      tone: lag === null ? 'ok' : lag > 60_000 ? 'bad' : lag > 10_000 ? 'warn' : 'info',
    }),
    tile('Dead letters', count(status.dead), {
      note: status.dead > 0 ? 'wait for an operator' : 'none',
      tone: status.dead > 0 ? 'bad' : 'ok',
      href: '#/dead',
    }),
    tile('Quarantine', count(status.quarantined), {
      note: 'stopped sessions',
      tone: status.quarantined > 0 ? 'bad' : 'ok',
      href: '#/quarantine',
    }),
    tile('Residual', count(status.residual), {
      note: status.residual === 0 ? 'books balance' : 'not accounted for',
      tone: status.residual === 0 ? 'ok' : 'bad',
    }),
  ];
}

/** @param {any} status */
function troublesOf(status) {
  if (status.degraded.length === 0) return null;
  return h(
    'div.notice.warn',
    { role: 'status' },
    h('strong', null, 'Degraded'),
    status.degraded.map((/** @type {any} */ one) =>
      h(
        'div',
        null,
        h('code', null, one.code),
        ` ${one.message} `,
        h('span.quiet', null, `since ${ago(one.since)}`),
      ),
    ),
  );
}

/** @param {any} status */
function diskOf({ disk, storage, retention }) {
  if (disk === null) return empty('The disk does not tell its space.');
  const used = disk.total_bytes - disk.free_bytes;
  const share = disk.total_bytes === 0 ? 0 : used / disk.total_bytes;
  return h(
    'div.page',
    null,
    bar(share, share > 0.95 ? 'bad' : share > 0.85 ? 'warn' : 'ok'),
    facts([
      ['Free', bytes(disk.free_bytes)],
      ['Size', bytes(disk.total_bytes)],
      ['Used', `${Math.round(share * 100)} %`],
      disk.path === null ? null : ['Root', h('span.mono', null, disk.path)],
    ]),
    storageOf(storage),
    retentionOf(retention),
  );
}

/** What the root takes, part by part.
 * @param {any} storage
 */
function storageOf(storage) {
  if (storage === null) return null;
  const parts = ['queue', 'graph', 'state', 'control', 'objects'].map(
    (name) => /** @type {[string, number]} */ ([name, storage[name]]),
  );
  const whole = parts.reduce((sum, [, size]) => sum + size, 0);
  return h(
    'div',
    null,
    h('h3', null, `The root: ${bytes(whole)}`),
    h(
      'ul.shares',
      null,
      parts.map(([name, size]) =>
        h(
          'li',
          null,
          h('span', null, name),
          bar(size / Math.max(1, whole)),
          h('span', null, bytes(size)),
        ),
      ),
    ),
  );
}

/** Rules of retention that are set, and what goes next by each.
 * @param {readonly any[]} rules
 */
function retentionOf(rules) {
  if (rules.length === 0) return null;
  return h(
    'div',
    null,
    h('h3', null, 'Retention'),
    h(
      'ul.plain',
      null,
      rules.map(({ part, bytes: size, waiting, first_at: at, taken }) =>
        h(
          'li',
          null,
          h('code', null, part),
          ` ${bytes(size)}, ${count(taken)} taken since the start; `,
          waiting === 0
            ? 'nothing goes within a day'
            : `${count(waiting)} go within a day, the first at ${when(at)}`,
        ),
      ),
    ),
  );
}

/** @param {any} status */
function workersOf(status) {
  const states = Object.entries(status.workers);
  return h(
    'div.page',
    null,
    h(
      'div.pills',
      null,
      states.length === 0
        ? pill('plain', 'no workers')
        : states.map(([state, number]) => pill('info', `${number} ${state}`)),
    ),
    facts([
      ['Sessions known', count(status.sessions.known)],
      ['Sessions active', count(status.sessions.active)],
      ['Duplicates', count(status.duplicates)],
      ['Discarded', count(status.discarded)],
      ['Running for', duration(Math.floor(status.uptime_seconds) * 1000)],
      ['Version', status.version],
    ]),
  );
}

/** @param {AbortSignal} signal */
function latestSessions(signal) {
  const place = h('div', null, loading());
  const load = async () => {
    try {
      const { sessions } = await get('/v1/sessions', { order: 'recent', limit: 8 }, signal);
      fill(
        place,
        table({
          caption: 'Sessions, last changed first',
          rows: sessions,
          empty: may('ingest:write')
            ? 'No session yet: post an event, and it is here.'
            : 'No session yet.',
          columns: [
            { title: 'Session', kind: 'grow', cell: sessionLink },
            { title: 'Workspace', cell: (row) => row.workspace },
            { title: 'State', kind: 'state', cell: stateOf },
            { title: 'Events', kind: 'num', cell: (row) => count(row.accepted) },
            { title: 'Changed', kind: 'time', cell: (row) => ago(row.graph?.last_updated) },
          ],
        }),
      );
    } catch (error) {
      if (!signal.aborted)
        fill(
          place,
          failure(error, () => void load()),
        );
    }
  };
  void load();
  return place;
}
