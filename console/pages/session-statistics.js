/** What a session used: tokens by model, tools, files, and what went wrong. */
import { h } from '../dom.js';
import { clock, count, duration, plainText, plural } from '../format.js';
import { showNode } from '../node-drawer.js';
import { bar, card, pill, table, tile } from '../parts.js';
import { ask } from '../queries.js';

const messageLengthMax = 200;

/** @param {import('./session.js').Subject} subject */
export async function statisticsOf({ workspace, id, signal }) {
  const about = { session: id, workspace };
  const [tokens, tools, files, errors] = await Promise.all([
    ask('token-usage', about, signal),
    ask('tool-calls', about, signal),
    ask('files-touched', about, signal),
    ask('errors', about, signal),
  ]);
  return h(
    'div.page',
    null,
    totals(tokens.rows, tools.rows),
    card('Tokens', tokenTable(tokens.rows)),
    h(
      'div.columns',
      null,
      card('Tools', toolTable(tools.rows)),
      card('Files', fileTable(files.rows)),
    ),
    card('What went wrong', errorTable(errors.rows)),
  );
}

/**
 * @param {readonly any[]} rows
 * @param {string} name
 */
function sum(rows, name) {
  return rows.reduce((total, row) => total + (row[name] ?? 0), 0);
}

/**
 * @param {readonly any[]} tokens
 * @param {readonly any[]} tools
 */
function totals(tokens, tools) {
  const input = sum(tokens, 'input') + sum(tokens, 'cache_read') + sum(tokens, 'cache_write');
  const cached = sum(tokens, 'cache_read');
  const cost = tokens.some(({ cost_usd: one }) => one !== null)
    ? `$${sum(tokens, 'cost_usd').toFixed(2)}`
    : '–';
  const failures = sum(tools, 'failures');
  return h(
    'div.tiles',
    null,
    tile('Requests to models', count(sum(tokens, 'iterations'))),
    tile('Input tokens', count(input), {
      note: input === 0 ? undefined : `${Math.round((cached / input) * 100)} % from the cache`,
    }),
    tile('Output tokens', count(sum(tokens, 'output'))),
    tile('Cost', cost, { note: 'as providers told it' }),
    tile('Tool calls', count(sum(tools, 'calls'))),
    tile('Failed calls', count(failures), { tone: failures > 0 ? 'bad' : 'ok' }),
  );
}

/** @param {readonly any[]} rows */
function tokenTable(rows) {
  const most = Math.max(1, ...rows.map((row) => row.input + row.output));
  return table({
    caption: 'Tokens by model',
    rows,
    empty: 'No request to a model told what it used.',
    columns: [
      {
        title: 'Model',
        kind: 'name',
        cell: (row) => [
          h('span.mono', null, row.model ?? 'unknown'),
          h('div.sub', null, row.provider ?? ''),
        ],
      },
      { title: 'Share', kind: 'grow', cell: (row) => bar((row.input + row.output) / most) },
      { title: 'Requests', kind: 'num', cell: (row) => count(row.iterations) },
      { title: 'Input', kind: 'num', cell: (row) => count(row.input) },
      { title: 'Output', kind: 'num', cell: (row) => count(row.output) },
      { title: 'Cache read', kind: 'num', cell: (row) => count(row.cache_read) },
      { title: 'Cache write', kind: 'num', cell: (row) => count(row.cache_write) },
      {
        title: 'Cost',
        kind: 'num',
        cell: (row) => (row.cost_usd === null ? '–' : `$${row.cost_usd}`),
      },
    ],
  });
}

/** @param {readonly any[]} rows */
function toolTable(rows) {
  const most = Math.max(1, ...rows.map(({ calls }) => calls));
  return table({
    caption: 'Tool calls by tool',
    rows,
    empty: 'No tool was called.',
    columns: [
      { title: 'Tool', kind: 'name mono', cell: (row) => row.tool ?? 'unknown' },
      { title: 'Share', cell: (row) => bar(row.calls / most, row.failures > 0 ? 'warn' : 'info') },
      { title: 'Calls', kind: 'num', cell: (row) => count(row.calls) },
      {
        title: 'Failed',
        kind: 'num',
        cell: (row) => (row.failures > 0 ? pill('bad', row.failures) : '0'),
      },
      { title: 'Mean time', kind: 'num', cell: (row) => duration(row.average_ms) },
    ],
  });
}

/** @param {readonly any[]} rows */
function fileTable(rows) {
  return table({
    caption: 'Files that tools named',
    rows,
    empty: 'No file was named.',
    columns: [
      { title: 'Path', kind: 'mono', cell: (row) => row.path },
      { title: 'Tools', cell: (row) => (row.tools ?? '').replaceAll(',', ', ') },
      { title: 'Times', kind: 'num', cell: (row) => count(row.touches) },
    ],
  });
}

/** @param {readonly any[]} rows */
function errorTable(rows) {
  return table({
    caption: `What went wrong, the newest first: ${plural(rows.length, 'error')}`,
    rows,
    empty: 'Nothing went wrong.',
    columns: [
      { title: 'Time', kind: 'time', cell: (row) => clock(row.at) },
      { title: 'Kind', cell: (row) => row.kind },
      {
        title: 'Name',
        cell: (row) =>
          h(
            'button.plain.mono',
            { type: 'button', onclick: () => showNode(row.workspace, row.id) },
            row.name ?? row.id,
          ),
      },
      { title: 'Message', kind: 'grow', cell: (row) => messageOf(row.message) },
    ],
  });
}

/** The first lines; the whole where a reader asks for it.
 * @param {string | null} message
 */
function messageOf(message) {
  if (message === null) return '–';
  const text = plainText(message);
  if (text.length <= messageLengthMax) return text;
  return h('details', null, h('summary', null, `${text.slice(0, messageLengthMax)}…`), text);
}
