/** Acts on many letters: what they would do is shown first, then they are asked for, then they are jobs. */
import { act } from '../api.js';
import { h } from '../dom.js';
import { count, plural } from '../format.js';
import { confirmAct, facts, pill, say, table } from '../parts.js';

/** Letters of which a dry run tells what the graph would say. */
const previewsMax = 20;

/** @type {Record<string, { tone: 'ok' | 'warn' | 'bad', text: string }>} */
export const outcomes = {
  applies: { tone: 'ok', text: 'would be applied' },
  dies: { tone: 'bad', text: 'would be dead again' },
  refused: { tone: 'warn', text: 'cannot be requeued' },
};

/** @param {string} outcome */
export function outcomePill(outcome) {
  const { tone, text } = outcomes[outcome] ?? { tone: 'warn', text: outcome };
  return pill(tone, text);
}

/** @param {Record<string, string>} filter */
export async function requeueMany(filter) {
  const would = await act('POST', '/v1/dead-letters/requeue', {
    ...filter,
    dry_run: true,
    limit: previewsMax,
  });
  if (would.count === 0) return say('No live letter is like this any more', 'warn');
  const rate = h('input', {
    type: 'number',
    min: '1',
    max: '100000',
    placeholder: 'as fast as they go',
  });
  const reason = h('input', { type: 'text', maxlength: '1000', placeholder: 'for the audit' });
  const isCurrent = h('input', { type: 'checkbox' });
  const sure = await confirmAct({
    title: `Requeue ${plural(would.count, 'letter')}?`,
    body: [
      summaryOf(would),
      h(
        'div.filters',
        null,
        h('label.field', null, h('span', null, 'Letters per second'), rate),
        h('label.field', null, h('span', null, 'Reason'), reason),
      ),
      h(
        'label.check',
        null,
        isCurrent,
        'Also letters of a life that is over, into the present one',
      ),
      h(
        'p.quiet',
        null,
        'A job does it: it can be paused, goes on after a restart, and a letter that went through already is left alone.',
      ),
    ],
    action: `Requeue ${count(would.count)}`,
  });
  if (!sure) return;
  const { job } = await act('POST', '/v1/dead-letters/requeue', {
    ...filter,
    ...(rate.value === '' ? {} : { per_second: Number(rate.value) }),
    ...(reason.value === '' ? {} : { reason: reason.value }),
    ...(isCurrent.checked ? { into_current: true } : {}),
  });
  location.hash = `#/dead/job/${encodeURIComponent(job.id)}`;
}

/** @param {any} would */
function summaryOf({ count: all, previews = [], summary = {} }) {
  const tried = previews.length;
  return h(
    'div.dialog-body',
    null,
    h(
      'p',
      null,
      tried < all
        ? `The first ${plural(tried, 'letter')} of ${count(all)} were tried, nothing was changed:`
        : 'All were tried, nothing was changed:',
    ),
    h(
      'div.pills',
      null,
      Object.entries(summary)
        .filter(([, number]) => number !== 0)
        .map(([outcome, number]) =>
          h('span', null, outcomePill(outcome), ` ${count(/** @type {number} */ (number))}`),
        ),
    ),
    (summary['dies'] ?? 0) > 0
      ? h(
          'div.notice.warn',
          null,
          'Letters that would be dead again come back as new letters: mend the cause first, or edit them.',
        )
      : null,
  );
}

/** @param {Record<string, any>} filter */
export async function discardMany(filter) {
  const would = await act('POST', '/v1/dead-letters/discard', { ...filter, dry_run: true });
  if (would.count === 0) return say('No live letter is like this any more', 'warn');
  const reason = h('input', { type: 'text', maxlength: '1000', placeholder: 'for the audit' });
  const sure = await confirmAct({
    title: `Discard ${plural(would.count, 'letter')}?`,
    body: [
      h(
        'p',
        null,
        'Their events will never be in the graph. Exactly the letters that were found now are discarded; if others have come or gone meanwhile, nothing is.',
      ),
      h(
        'p.quiet',
        null,
        'Their payloads stay readable among the settled letters until a retention takes them. You can save them first: Letters, Export.',
      ),
      h('label.field', null, h('span', null, 'Reason'), reason),
    ],
    action: `Discard ${count(would.count)}`,
    word: 'discard',
    danger: true,
  });
  if (!sure) return;
  const { job } = await act('POST', '/v1/dead-letters/discard', {
    ...filter,
    dry_run: false,
    confirm: would.confirm,
    ...(reason.value === '' ? {} : { reason: reason.value }),
  });
  say(`${count(job.done)} of ${plural(job.total, 'letter')} discarded`);
  location.hash = `#/dead/job/${encodeURIComponent(job.id)}`;
}

/** What a dry run says that the graph would get.
 * @param {any} preview
 */
export function previewOf({
  outcome,
  same_error: isSame,
  up_to_store: isOpen,
  error,
  nodes = [],
  edges = [],
  removed_edges: removed = [],
}) {
  return h(
    'div.dialog-body',
    null,
    h(
      'div.pills',
      null,
      outcomePill(outcome),
      isSame === true ? pill('bad', 'the same error') : null,
      isOpen === true
        ? pill(
            'warn',
            'the store has the last word',
            'The graph store had refused it: only an attempt can tell',
          )
        : null,
    ),
    error === null || error === undefined
      ? null
      : h('div.failure', null, h('code', null, error.code), error.message),
    nodes.length === 0
      ? null
      : table({
          caption: 'Nodes that the graph would get',
          rows: /** @type {any[]} */ (nodes),
          columns: [
            { title: 'Node', kind: 'mono', cell: (node) => node.id },
            {
              title: 'Labels',
              cell: (node) =>
                h(
                  'div.pills',
                  null,
                  node.labels.map((/** @type {string} */ label) => pill('plain', label)),
                ),
            },
          ],
        }),
    outcome === 'applies'
      ? facts([
          ['Nodes', count(nodes.length)],
          ['Edges', count(edges.length)],
          ['Edges taken away', count(removed.length)],
        ])
      : null,
  );
}
