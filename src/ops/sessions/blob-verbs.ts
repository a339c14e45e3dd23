import { Type } from 'typebox';
import { blobsOf, readBlob } from './blobs.ts';
import { blobUnknown, objectExpired, objectUnknown, sessionUnknown } from '../errors.ts';
import { findSession, requireAllWorkspaces } from './session-lookup.ts';
import { type Verb, defineStreamVerb, defineVerb } from '../verb.ts';

/** The predecessor's views of large values (D16, D30): what it kept as files stands in the events here, or in objects that they name. */

const workspace = Type.Optional(Type.String());

export const blobsListVerb: Verb = defineVerb({
  name: 'blobs list',
  summary: 'the blobs of one session, as the predecessor lists them',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object(
    { session: Type.String({ minLength: 1 }), workspace },
    { additionalProperties: false },
  ),
  output: Type.Object({ session_id: Type.String(), blobs: Type.Array(Type.String()) }),
  http: { method: 'GET', path: '/blobs/{session}' },
  async run(context, { session, workspace }, caller) {
    const found = await findSession(context, session, workspace, caller).catch((error: unknown) => {
      // The predecessor answers an unknown session with an empty list.
      if (sessionUnknown.is(error)) return undefined;
      throw error;
    });
    if (found === undefined) return { session_id: session, blobs: [] };
    const blobs = await blobsOf(context, found, caller.signal);
    const uris = blobs.map(({ key }) => `ci-blob://${found.session}/${key}`);
    return { session_id: found.session, blobs: uris };
  },
});

export const blobsShowVerb: Verb = defineVerb({
  name: 'blobs show',
  summary: 'the JSON value of one blob',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object(
    { session: Type.String({ minLength: 1 }), key: Type.String({ minLength: 1 }), workspace },
    { additionalProperties: false },
  ),
  output: Type.Unknown(),
  http: { method: 'GET', path: '/blobs/{session}/{key}' },
  async run(context, { session, key, workspace }, caller) {
    const found = await findSession(context, session, workspace, caller).catch((error: unknown) => {
      if (sessionUnknown.is(error)) throw blobUnknown({ session, key });
      throw error;
    });
    const value = await readBlob(context, found, key, caller.signal);
    if (value === undefined) throw blobUnknown({ session, key });
    return value;
  },
});

export const objectsShowVerb: Verb = defineStreamVerb({
  name: 'objects show',
  summary: 'the canonical JSON of a value that was too large for the graph',
  effect: 'read',
  scope: 'ingest:read',
  input: Type.Object(
    { sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) },
    { additionalProperties: false },
  ),
  mediaType: 'application/json; charset=utf-8',
  http: { method: 'GET', path: '/v1/objects/{sha256}' },
  async run(context, { sha256 }, caller) {
    requireAllWorkspaces(caller, 'a value by its digest alone');
    const bytes = await context.objects.read(sha256);
    if (bytes === undefined) {
      const at = context.objects.expiredAt(sha256);
      throw at === undefined ? objectUnknown({ sha256 }) : objectExpired({ sha256, at });
    }
    return once(bytes);
  },
});

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}
