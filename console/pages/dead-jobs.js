/** Acts on many letters, while they run and afterwards. */
import { act, get, part } from '../api.js';
import { fill, h } from '../dom.js';
import { ago, count, duration, plural, timeOf, when } from '../format.js';
import {
  actButton,
  bar,
  card,
  confirmAct,
  empty,
  facts,
  failure,
  pages,
  pill,
  say,
  table,
} from '../parts.js';
import { needs } from '../who.js';

const followMs = 1000;

/** @param {AbortSignal} signal */
export function jobsOf(signal) {
  return pages(
    async (token) => {
      const answer = await get('/v1/jobs', { limit: 50, page_token: token }, signal);
      return { rows: answer.jobs, next: answer.next_page_token };
    },
    (jobs) =>
      jobs.length === 0
        ? empty('No job yet: requeue or discard letters, and it is here.')
        : table({
            caption: 'Jobs, newest first',
            rows: jobs,
            columns: [
              {
                title: 'Job',
                cell: (job) => [
                  h('a', { href: `#/dead/job/${part(job.id)}` }, job.kind),
                  h('div.sub', null, ago(job.made_at)),
                ],
              },
              { title: 'State', cell: (job) => statePill(job) },
              { title: 'Progress', kind: 'grow', cell: (job) => progressOf(job) },
              { title: 'Letters', kind: 'num', cell: (job) => count(job.total) },
              { title: 'By', cell: (job) => job.principal },
              { title: 'Reason', cell: (job) => job.reason ?? '–' },
            ],
          }),
  );
}

/** @param {any} job */
function statePill({ state, waiting_for: waiting }) {
  if (waiting !== null) return pill('warn', `${state}, waits`, waiting.message);
  /** @type {Record<string, import('../parts.js').Tone>} */
  const tones = { running: 'info', paused: 'warn', done: 'ok', cancelled: 'plain' };
  return pill(tones[state] ?? 'plain', state);
}

/** @param {any} job */
function progressOf({ done, total, counts }) {
  const share = total === 0 ? 1 : done / total;
  const words = Object.entries(counts)
    .filter(([, number]) => number > 0)
    .map(([name, number]) => `${count(/** @type {number} */ (number))} ${name}`);
  return [
    bar(share, share === 1 ? 'ok' : 'info'),
    h(
      'div.sub',
      null,
      `${count(done)} of ${count(total)}${words.length === 0 ? '' : ` · ${words.join(' · ')}`}`,
    ),
  ];
}

/**
 * @param {string} id
 * @param {AbortSignal} signal
 */
export async function jobOf(id, signal) {
  const head = h('div.page', { 'aria-live': 'polite' });
  const results = h('div');
  const load = async () => {
    const job = await get(`/v1/jobs/${part(id)}`, {}, signal);
    fill(head, headOf(job, load));
    return job;
  };
  const showResults = async () => void fill(results, await resultsOf(id, signal));
  const job = await load();
  await showResults();
  void follow(job, load, showResults, signal);
  return h(
    'div.page',
    null,
    head,
    card(
      'Results',
      h('div.actions', null, actButton('Load again', { class: 'small' }, showResults)),
      results,
    ),
  );
}

/**
 * Looks again while the job is open; the results once more at its end.
 *
 * @param {any} job
 * @param {() => Promise<any>} load
 * @param {() => Promise<unknown>} showResults
 * @param {AbortSignal} signal
 */
async function follow(job, load, showResults, signal) {
  let latest = job;
  while (!signal.aborted && latest.ended_at === null) {
    await new Promise((resolve) => setTimeout(resolve, followMs));
    if (signal.aborted || document.hidden) continue;
    // A daemon that restarts does not answer for a while; the job goes on with it.
    latest = await load().catch(() => latest);
    if (latest.ended_at !== null) await showResults().catch(() => undefined);
  }
}

/**
 * @param {any} job
 * @param {() => Promise<any>} load
 */
function headOf(job, load) {
  const took = timeOf(job.ended_at ?? new Date().toISOString()) - timeOf(job.made_at);
  return card(
    `${job.kind === 'discard' ? 'Discard' : 'Requeue'} of ${plural(job.total, 'letter')}`,
    h('div.pills', null, statePill(job)),
    job.waiting_for === null
      ? null
      : h('div.notice.warn', null, h('code', null, job.waiting_for.code), job.waiting_for.message),
    h('div', null, progressOf(job)),
    facts([
      ['Begun', when(job.made_at)],
      [job.ended_at === null ? 'Running for' : 'Took', duration(took)],
      ['By', job.principal],
      ['Reason', job.reason ?? 'none given'],
      [
        'Letters per second',
        job.per_second === null ? 'as fast as they go' : count(job.per_second),
      ],
      ['Selection', h('code', null, JSON.stringify(job.selection))],
    ]),
    job.ended_at === null ? controls(job, load) : null,
  );
}

/**
 * @param {any} job
 * @param {() => Promise<any>} load
 */
function controls(job, load) {
  /** @param {string} verb */
  const tell = async (verb) => {
    await act('POST', `/v1/jobs/${part(job.id)}/${verb}`, {});
    await load();
  };
  const cancel = async () => {
    const sure = await confirmAct({
      title: 'Cancel this job?',
      body: h(
        'p',
        null,
        'What is done stays done; the other letters stay as they are, dead and safe.',
      ),
      action: 'Cancel the job',
      danger: true,
    });
    if (!sure) return;
    await tell('cancel');
    say('The job is cancelled');
  };
  return h(
    'div.actions',
    null,
    job.state === 'paused'
      ? actButton('Go on', { class: 'primary', ...needs('ops:write') }, () => tell('resume'))
      : actButton('Pause', needs('ops:write'), () => tell('pause')),
    actButton('Cancel the job…', { class: 'danger', ...needs('ops:write') }, cancel),
  );
}

/**
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function resultsOf(id, signal) {
  try {
    return await pages(
      async (token) => {
        const answer = await get(
          `/v1/jobs/${part(id)}/results`,
          { limit: 100, page_token: token },
          signal,
        );
        return { rows: answer.results, next: answer.next_page_token };
      },
      (results) =>
        table({
          caption: 'What became of each letter',
          rows: results,
          columns: [
            {
              title: 'Letter',
              kind: 'grow mono',
              cell: (row) => h('a', { href: `#/dead/letter/${part(row.letter)}` }, row.letter),
            },
            {
              title: 'Result',
              cell: (row) =>
                row.result === null
                  ? pill('plain', 'waits')
                  : pill(row.result === 'refused' ? 'bad' : 'ok', row.result),
            },
            {
              title: 'Now',
              cell: (row) =>
                row.now === null
                  ? '–'
                  : pill(
                      row.now === 'applied' ? 'ok' : row.now === 'dead' ? 'bad' : 'info',
                      row.now,
                    ),
            },
            {
              title: 'Why',
              kind: 'grow',
              cell: (row) =>
                row.code === null ? '–' : [h('code', null, row.code), ` ${row.message}`],
            },
            { title: 'At', kind: 'time', cell: (row) => when(row.at) },
          ],
        }),
    );
  } catch (error) {
    return failure(error);
  }
}
