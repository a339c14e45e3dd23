import { Type } from 'typebox';
import { payloadOf } from './dead-verbs.ts';
import { filterMembers, filterOf, rowOf } from './letter-input.ts';
import { type Verb, defineStreamVerb } from '../verb.ts';

export const deadExportVerb: Verb = defineStreamVerb({
  name: 'dead export',
  summary: 'dead letters as NDJSON, one a line; with payloads for callers with ops:write',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(
    { ...filterMembers, retired: Type.Optional(Type.Boolean()) },
    { additionalProperties: false },
  ),
  mediaType: 'application/x-ndjson',
  http: { method: 'GET', path: '/v1/dead-letters/export' },
  run(context, input, caller) {
    const letters = context.deadLetters.each(filterOf(input, caller));
    const mayRead = caller.scopes.has('ops:write');
    return Promise.resolve(lines());
    async function* lines(): AsyncGenerator<Uint8Array> {
      for await (const letter of letters) {
        caller.signal.throwIfAborted();
        const { editable: _same, ...payload } = mayRead ? payloadOf(letter) : {};
        yield Buffer.from(`${JSON.stringify({ ...rowOf(letter), ...payload })}\n`);
      }
    }
  },
});
