/** A form for each named query, made from the JSON Schema of its parameters. */
import { api, part } from '../api.js';
import { h } from '../dom.js';

/**
 * @param {readonly any[]} queries
 * @param {string | undefined} chosen
 * @param {URLSearchParams} given values of the address
 * @param {(ask: () => Promise<any>) => void} run
 * @param {AbortSignal} signal
 */
export function namedForm(queries, chosen, given, run, signal) {
  const query = queries.find(({ name }) => name === chosen) ?? queries[0];
  const { properties, required } = query.parameters;
  const fields = Object.entries(properties).map(([name, schema]) => ({
    name,
    schema,
    input: inputOf(name, schema, given.get(name) ?? '', required.includes(name)),
  }));
  const pick = h(
    'select',
    {
      onchange: () => {
        location.hash = `#/query/named/${part(pick.value)}`;
      },
    },
    queries.map(({ name }) => h('option', { value: name, selected: name === query.name }, name)),
  );
  const ask = () => {
    const values = Object.fromEntries(
      fields
        .map(({ name, input }) => [name, input.value.trim()])
        .filter(([, value]) => value !== ''),
    );
    history.replaceState(
      null,
      '',
      `#/query/named/${part(query.name)}?${new URLSearchParams(/** @type {any} */ (values))}`,
    );
    run(() =>
      api('POST', `/v1/queries/${part(query.name)}`, { body: { parameters: values }, signal }),
    );
  };
  const form = h(
    'form.card',
    {
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        ask();
      },
    },
    h('div.filters', null, h('label.field', null, h('span', null, 'Query'), pick)),
    h('p', null, `${query.tells}.`),
    h(
      'div.filters',
      null,
      fields.map(({ name, schema, input }) =>
        h(
          'label.field',
          null,
          h(
            'span',
            { title: /** @type {any} */ (schema).description },
            `${name}${required.includes(name) ? ' *' : ''}`,
          ),
          input,
        ),
      ),
    ),
    h('div.actions', null, h('button.primary', { type: 'submit' }, 'Run')),
  );
  // An address with all that a query needs is a link to its answer.
  if (given.size > 0 && required.every((/** @type {string} */ name) => given.has(name)))
    queueMicrotask(ask);
  return form;
}

/**
 * @param {string} name
 * @param {any} schema
 * @param {string} value
 * @param {boolean} required
 */
function inputOf(name, schema, value, required) {
  const isCount = schema.type === 'integer';
  return h('input', {
    type: isCount ? 'number' : 'text',
    name,
    value,
    required,
    min: schema.minimum,
    max: schema.maximum,
    title: schema.description,
    spellcheck: 'false',
    autocomplete: 'off',
    placeholder:
      schema.default ??
      (schema.format === 'date-time' ? '2026-01-31T09:00:00Z' : schema.description),
  });
}
