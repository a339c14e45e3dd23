import {
  canonicalJson,
  formatTooNew,
  isJsonObject,
  JsonInvalid,
  parseJson,
  sha256Hex,
  type JsonObject,
  type JsonValue,
} from '#base';
import type { CopiedFile } from '#disk';
import type { KeyEncoding } from '#record';
import { backupUnreadable } from './errors.ts';

export const manifestName = 'manifest.json';
export const manifestFormat = 1;

/** The books of the root at the instant: what a restored one must show before it goes on. */
export interface BackupBooks {
  readonly accepted: number;
  readonly applied: number;
  readonly pending: number;
  readonly dead: number;
  readonly discarded: number;
  readonly duplicates: number;
}

/** `manifest.json`, the last file of a backup: what it holds, and that it is whole (FEN-706). */
export interface Manifest {
  readonly format: number;
  readonly backupId: string;
  /** Version of the program that made it. */
  readonly product: string;
  /** RFC 3339 UTC: the instant of which all of it is. */
  readonly createdAt: string;
  readonly rootId: string;
  readonly keyEncoding: KeyEncoding;
  readonly isLab: boolean;
  /** Highest tenure that has written what is in it. */
  readonly generation: number;
  readonly books: BackupBooks;
  readonly graph: {
    readonly graphId: string;
    readonly digest: string;
    readonly nodes: number;
    readonly edges: number;
  };
  /** In the order of their names. */
  readonly files: readonly CopiedFile[];
}

/** With the SHA-256 of its own canonical form as the last word. */
export function formatManifest(manifest: Manifest): Uint8Array {
  const json = {
    format: manifest.format,
    backup_id: manifest.backupId,
    product: manifest.product,
    created_at: manifest.createdAt,
    root_id: manifest.rootId,
    key_encoding: manifest.keyEncoding,
    ...(manifest.isLab ? { lab: true } : {}),
    generation: manifest.generation,
    books: { ...manifest.books },
    graph: {
      graph_id: manifest.graph.graphId,
      digest: manifest.graph.digest,
      nodes: manifest.graph.nodes,
      edges: manifest.graph.edges,
    },
    files: manifest.files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
  };
  const sha256 = digestOf(json);
  return Buffer.from(`${JSON.stringify({ ...json, sha256 }, null, 1)}\n`, 'utf8');
}

function digestOf(json: JsonValue): string {
  return sha256Hex(Buffer.from(canonicalJson(json), 'utf8'));
}

/** What may stand at the top of a backup; settings.json is for people and never restored. */
const tops: ReadonlySet<string> = new Set([
  'queue',
  'graph',
  'control',
  'state',
  'objects',
  'tokens.json',
  'settings.json',
]);

/** Reads a manifest; BACKUP_UNREADABLE for anything that `formatManifest` did not write, FORMAT_TOO_NEW for a later one. Pure. */
export function parseManifest(path: string, bytes: Uint8Array): Manifest {
  const fail = (reason: string): Error => backupUnreadable({ path, reason });
  const { sha256, ...json } = objectOf(path, bytes);
  const { format } = json;
  if (!Number.isSafeInteger(format)) throw fail('its manifest has no format');
  if (Number(format) > manifestFormat)
    throw formatTooNew({
      thing: `the backup ${path}`,
      found: Number(format),
      known: manifestFormat,
    });
  if (sha256 !== digestOf(json)) throw fail('its manifest is not what was written');
  const { books, graph, files } = json as unknown as {
    readonly books: BackupBooks;
    readonly graph: { graph_id: string; digest: string; nodes: number; edges: number };
    readonly files: readonly CopiedFile[];
  };
  for (const { name } of files) {
    const parts = name.split('/');
    const isInside = parts.every((part) => part !== '' && part !== '.' && part !== '..');
    if (!isInside || name.includes('\\') || name.includes('\0') || !tops.has(parts[0] ?? ''))
      throw fail(`its manifest names ${JSON.stringify(name)}`);
  }
  const text = (member: string): string => {
    const value = json[member];
    if (typeof value !== 'string') throw fail(`its manifest has no ${member}`);
    return value;
  };
  return {
    format: manifestFormat,
    backupId: text('backup_id'),
    product: text('product'),
    createdAt: text('created_at'),
    rootId: text('root_id'),
    keyEncoding: json['key_encoding'] === 'hashed' ? 'hashed' : 'plain',
    isLab: json['lab'] === true,
    generation: Number(json['generation']),
    books,
    graph: {
      graphId: graph.graph_id,
      digest: graph.digest,
      nodes: graph.nodes,
      edges: graph.edges,
    },
    files,
  };
}

function objectOf(path: string, bytes: Uint8Array): JsonObject {
  try {
    const json = parseJson(bytes);
    if (isJsonObject(json)) return json;
  } catch (error) {
    if (!(error instanceof JsonInvalid)) throw error;
    throw backupUnreadable({ path, reason: `its manifest: ${error.message}` }, error);
  }
  throw backupUnreadable({ path, reason: 'its manifest is no JSON object' });
}
