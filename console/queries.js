/** Named queries, as rows that are objects. */
import { api, part } from './api.js';

/**
 * @param {string} name
 * @param {Record<string, unknown>} parameters those that are '' or undefined are left out
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ rows: any[], hasMore: boolean }>}
 */
export async function ask(name, parameters, signal) {
  const given = Object.fromEntries(
    Object.entries(parameters).filter(([, value]) => value !== undefined && value !== ''),
  );
  const {
    columns,
    rows,
    has_more: hasMore,
  } = await api('POST', `/v1/queries/${part(name)}`, { body: { parameters: given }, signal });
  return { rows: rows.map((/** @type {unknown[]} */ cells) => objectOf(columns, cells)), hasMore };
}

/**
 * @param {readonly string[]} columns
 * @param {readonly unknown[]} cells
 */
export function objectOf(columns, cells) {
  return Object.fromEntries(columns.map((column, at) => [column, cells[at]]));
}
