/** Everything about one node of the graph, beside the page. */
import { get } from './api.js';
import { fill, h } from './dom.js';
import { when } from './format.js';
import { drawer, facts, failure, json, loading, pill, table } from './parts.js';
import { may } from './who.js';

/**
 * @param {string} workspace
 * @param {string} node
 */
export function showNode(workspace, node) {
  const place = h('div.drawer-body', null, loading());
  drawer('Node', place);
  const load = async () => {
    try {
      const found = await get('/v1/graph/neighbours', { workspace, node, limit: 25 });
      fill(place, partsOf(found));
    } catch (error) {
      fill(
        place,
        failure(error, () => void load()),
      );
    }
  };
  void load();
}

/** @param {any} found */
function partsOf({ node, degrees, edges }) {
  return [
    h('div.mono', null, node.id),
    h(
      'div.pills',
      null,
      node.labels.map((/** @type {string} */ label) => pill('plain', label)),
    ),
    propertiesOf(node.properties),
    h('h3', null, 'Edges'),
    table({
      caption: 'Edges of this node by type',
      rows: degrees,
      empty: 'It stands alone.',
      columns: [
        { title: 'Type', cell: (row) => row.type },
        { title: 'Direction', cell: (row) => (row.direction === 'out' ? 'from here' : 'to here') },
        { title: 'Number', kind: 'num', cell: (row) => row.count },
      ],
    }),
    edges.length === 0
      ? null
      : h(
          'ul',
          null,
          edges.map((/** @type {any} */ edge) => {
            const other = edge.from === node.id ? edge.to : edge.from;
            return h(
              'li',
              null,
              `${edge.type} ${edge.from === node.id ? 'to' : 'from'} `,
              h(
                'button.plain.mono',
                { type: 'button', onclick: () => showNode(node.workspace, other) },
                other,
              ),
            );
          }),
        ),
  ];
}

/** Short values as a list, texts of JSON as such, what became an object with a way to read it.
 * @param {Record<string, unknown>} properties
 */
export function propertiesOf(properties) {
  const long = Object.entries(properties).filter(([, value]) => isLong(value));
  const short = Object.entries(properties).filter(([, value]) => !isLong(value));
  return h(
    'div.drawer-body',
    null,
    facts(short.map(([name, value]) => [name, shown(name, value)])),
    long.map(([name, value]) =>
      h('div', null, h('h3', null, name), json(parsed(value), name), objectsIn(value)),
    ),
  );
}

/** @param {unknown} value */
function isLong(value) {
  return typeof value === 'object'
    ? value !== null && !Array.isArray(value)
    : typeof value === 'string' && (value.length > 120 || /^[[{]/.test(value));
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function shown(name, value) {
  if (typeof value === 'string' && /(_at|_updated)$/.test(name))
    return h('time', { datetime: value, title: value }, when(value));
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** @param {unknown} value */
function parsed(value) {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** Values above the graph's limit are objects of their own (`{"$object": …}`).
 * @param {unknown} value
 */
function objectsIn(value) {
  const found = [
    ...String(value).matchAll(/"\$object":\{"bytes":(\d+),[^}]*"sha256":"([0-9a-f]{64})"/g),
  ].map((match) => ({ bytes: match[1], sha256: match[2] }));
  if (found.length === 0 || !may('ingest:read')) return null;
  return found.map(({ bytes, sha256 }) => {
    const place = h('div');
    const button = h(
      'button.small',
      {
        type: 'button',
        onclick: async () => {
          try {
            fill(place, json(await get(`/v1/objects/${sha256}`), 'large value'));
          } catch (error) {
            fill(place, failure(error));
          }
        },
      },
      `Read the large value (${bytes} bytes)`,
    );
    return h('div', null, button, place);
  });
}
