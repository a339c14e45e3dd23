import { formatTooNew, isJsonObject, JsonInvalid, parseJson, type JsonObject } from '#base';
import type { KeyEncoding } from '#record';
import { rootUnreadable } from './errors.ts';
import { layoutVersion } from './layout.ts';

export const markerFormat = 1;

/** `root.json`: says that a folder is a data root, and which. Written only under the root lock (ROOT-43). */
export interface RootMarker {
  readonly format: 1;
  readonly layoutVersion: number;
  /** Names the store wherever it lies (ROOT-44): `SR-` and 32 hex digits. */
  readonly storageRootId: string;
  readonly state: 'active';
  /** RFC 3339 UTC. */
  readonly createdAt: string;
  /** How names of session folders are made (ING-110, ING-112); another one would give every session a second folder. */
  readonly keyEncoding: KeyEncoding;
  /** Made by a test or the crash lab: failpoints are honoured (ING-021). */
  readonly isLab: boolean;
}

/** Reads a marker's bytes. FORMAT_TOO_NEW for a newer one, ROOT_UNREADABLE for anything that no version wrote. Pure. */
export function parseMarker(root: string, bytes: Uint8Array): RootMarker {
  const json = parseObject(root, bytes);
  const fail = (reason: string): Error => rootUnreadable({ root, reason });
  const { format, layout_version, storage_root_id, state, created_at } = json;
  for (const [what, found, known] of [
    ['format', format, markerFormat],
    ['layout', layout_version, layoutVersion],
  ] as const) {
    if (!Number.isSafeInteger(found) || Number(found) < 1) throw fail(`its ${what} is no number`);
    if (Number(found) > known)
      throw formatTooNew({ thing: `the ${what} of the root ${root}`, found: Number(found), known });
  }
  if (typeof storage_root_id !== 'string' || !/^SR-[0-9a-f]{32}$/.test(storage_root_id))
    throw fail('it has no storage_root_id');
  if (state !== 'active') throw fail(`its state is ${JSON.stringify(state)}, not "active"`);
  if (typeof created_at !== 'string') throw fail('it has no created_at');
  const keyEncoding = json['key_encoding'] ?? 'plain';
  if (keyEncoding !== 'plain' && keyEncoding !== 'hashed')
    throw fail('its key_encoding is unknown');
  return {
    format: markerFormat,
    layoutVersion: Number(layout_version),
    storageRootId: storage_root_id,
    state,
    createdAt: created_at,
    keyEncoding,
    isLab: json['lab'] === true,
  };
}

function parseObject(root: string, bytes: Uint8Array): JsonObject {
  try {
    const json = parseJson(bytes);
    if (isJsonObject(json)) return json;
  } catch (error) {
    if (!(error instanceof JsonInvalid)) throw error;
    throw rootUnreadable({ root, reason: error.message }, error);
  }
  throw rootUnreadable({ root, reason: 'it is no JSON object' });
}

export function formatMarker(marker: RootMarker): Uint8Array {
  const json = {
    format: marker.format,
    layout_version: marker.layoutVersion,
    storage_root_id: marker.storageRootId,
    state: marker.state,
    created_at: marker.createdAt,
    key_encoding: marker.keyEncoding,
    relocation: null,
    ...(marker.isLab ? { lab: true } : {}),
  };
  return Buffer.from(`${JSON.stringify(json, null, 2)}\n`, 'utf8');
}
