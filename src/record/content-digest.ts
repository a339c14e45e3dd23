import { hash } from 'node:crypto';
import { canonicalJson, parseJson, sliceMembers } from '#base';

/**
 * What two records of one sent event id must share: SHA-256, lower-case hex, of event name and `data` as JSON values (ING-517). Member order
 * and white space do not count, nor do `working_dir` and other extra members. A line that `buildLine` did not make counts as a whole.
 */
export function contentDigest(line: Uint8Array): string {
  const members = new Map(sliceMembers(line).map(({ key, start, end }) => [key, { start, end }]));
  const event = members.get('ev');
  const data = members.get('data');
  if (event === undefined || data === undefined) return digestOf(canonical(line));
  const [name, value] = [event, data].map(({ start, end }) => canonical(line.subarray(start, end)));
  return digestOf(`{"data":${value},"event":${name}}`);
}

function canonical(bytes: Uint8Array): string {
  return canonicalJson(parseJson(bytes));
}

function digestOf(text: string): string {
  return hash('sha256', text, 'hex');
}
