/** Questions to the graph: named ones with a form made from their schemas, and read-only Cypher. */
import { api, get } from '../api.js';
import { fill, h } from '../dom.js';
import { tabs } from '../parts.js';
import { cypherForm } from './query-cypher.js';
import { namedForm } from './query-named.js';
import { resultOf } from './query-result.js';

/** @type {import('../app.js').Page} */
export const page = {
  title: 'Query',
  scope: 'ingest:read',
  async render({ path: [kind = 'named', chosen], query, signal }) {
    const result = h('div', { 'aria-live': 'polite' });
    /** @param {() => Promise<any>} ask */
    const run = (ask) => void resultOf(result, ask, signal);
    const form =
      kind === 'cypher'
        ? cypherForm(run, query.get('text') ?? undefined, (body) =>
            api('POST', '/v1/cypher', { body, signal }),
          )
        : namedForm((await get('/v1/queries', {}, signal)).queries, chosen, query, run, signal);
    fill(result, h('p.quiet', null, 'The answer comes here.'));
    return h(
      'div',
      null,
      tabs('Kinds of questions', [
        { title: 'Named queries', href: '#/query/named', current: kind !== 'cypher' },
        { title: 'Cypher', href: '#/query/cypher', current: kind === 'cypher' },
      ]),
      form,
      result,
    );
  },
};
