import { createHash } from 'node:crypto';
import { assert, canonicalJson, parseJson, sliceMembers } from '#base';

/**
 * What two records of one sent event id must share: SHA-256, lower-case hex, of event name and `data` as JSON values (ING-517). Member order
 * and white space do not count, nor do `working_dir` and other extra members. The line was made by `buildLine`.
 */
export function contentDigest(line: Uint8Array): string {
  const members = new Map(sliceMembers(line).map(({ key, start, end }) => [key, { start, end }]));
  const event = members.get('ev');
  const data = members.get('data');
  assert(event !== undefined && data !== undefined, 'a stored line has ev and data');
  const text = [event, data].map(({ start, end }) =>
    canonicalJson(parseJson(line.subarray(start, end))),
  );
  return createHash('sha256').update(`{"data":${text[1]},"event":${text[0]}}`).digest('hex');
}
