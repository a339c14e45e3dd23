/** Read-only Cypher. What was asked stays in this tab. */
import { h } from '../dom.js';
import { say } from '../parts.js';

const historyName = 'millrace.cypher';
const historyMost = 20;

const examples = [
  [
    'Tools that fail most',
    'MATCH (t:ToolCall)\nWHERE t.result_success = false\nRETURN t.tool_name AS tool, count(*) AS failures\nORDER BY failures DESC LIMIT 20',
  ],
  [
    'Delegations between agents',
    'MATCH (p:Session)-[:HAS_SUBSESSION|FORKED]->(c:Session)\nRETURN p.agent AS parent, c.agent AS child, count(*) AS times\nORDER BY times DESC LIMIT 50',
  ],
  [
    'Sessions and their children, as a picture',
    'MATCH path = (p:Session)-[:HAS_SUBSESSION|FORKED]->(c:Session)\nRETURN path LIMIT 50',
  ],
  [
    'Tokens by model',
    'MATCH (i:Iteration)\nRETURN i.model AS model, sum(i.usage_input) AS input, sum(i.usage_output) AS output\nORDER BY output DESC',
  ],
];

/** @returns {string[]} */
function history() {
  return JSON.parse(sessionStorage.getItem(historyName) ?? '[]');
}

/** @param {string} text */
function remember(text) {
  sessionStorage.setItem(
    historyName,
    JSON.stringify([text, ...history().filter((one) => one !== text)].slice(0, historyMost)),
  );
}

/**
 * @param {(ask: () => Promise<any>) => void} run
 * @param {string | undefined} given
 * @param {(body: any) => Promise<any>} send
 */
export function cypherForm(run, given, send) {
  const text = h('textarea', {
    rows: '6',
    spellcheck: 'false',
    'aria-label': 'Cypher query',
    required: true,
    value: given ?? history()[0] ?? examples[0]?.[1],
  });
  const parameters = h('textarea', { rows: '1', spellcheck: 'false', placeholder: '{"id": "…"}' });
  const workspace = h('input', {
    type: 'text',
    placeholder: 'all that you may see',
    spellcheck: 'false',
  });
  const limit = h('input', { type: 'number', min: '1', max: '10000', value: '200' });
  const ask = () => {
    const values = readObject(parameters.value);
    if (values === undefined) {
      say('The parameters are not one JSON object', 'bad');
      parameters.focus();
      return;
    }
    remember(text.value);
    const place = workspace.value.trim();
    const body = { query: text.value, parameters: values, limit: Number(limit.value) };
    run(() => send(place === '' ? body : { ...body, workspace: place }));
  };
  return h(
    'form.card',
    {
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        ask();
      },
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        ask();
      },
    },
    text,
    h(
      'div.filters',
      null,
      h('label.field', null, h('span', null, 'Examples and what you asked'), picker(text)),
      h('label.field', null, h('span', null, 'Parameters (JSON)'), parameters),
      h('label.field', null, h('span', null, 'Workspace'), workspace),
      h('label.field', null, h('span', null, 'Rows at most'), limit),
    ),
    h(
      'div.actions',
      null,
      h('button.primary', { type: 'submit' }, 'Run'),
      h('span.quiet', null, 'Ctrl+Enter runs it too. Nothing is ever written.'),
    ),
  );
}

/** Puts an example, or a question of before, into the field.
 * @param {HTMLTextAreaElement} text
 */
function picker(text) {
  const before = history();
  const pick = h(
    'select',
    {
      onchange: () => {
        if (pick.value === '') return;
        text.value = pick.value;
        pick.value = '';
        text.focus();
      },
    },
    h('option', { value: '' }, 'Choose one'),
    h(
      'optgroup',
      { label: 'Examples' },
      examples.map(([title, value]) => h('option', { value }, title)),
    ),
    before.length === 0
      ? null
      : h(
          'optgroup',
          { label: 'Asked before' },
          before.map((value) => h('option', { value }, value.replaceAll(/\s+/g, ' ').slice(0, 70))),
        ),
  );
  return pick;
}

/** Undefined for what is no JSON object.
 * @param {string} text
 */
function readObject(text) {
  if (text.trim() === '') return {};
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
