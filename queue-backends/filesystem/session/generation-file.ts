import { canonicalJson, crc32cHex, formatTooNew, type JsonValue } from '#base';
import type { Cursor, Position } from '#record';
import type { AppliedBefore, KeyState } from './key-state.ts';

const version = 1;

/** The immutable description of one log generation (ING-815). */
export interface GenerationFile {
  readonly v: 1;
  readonly workspace: string;
  readonly session_id: string;
  readonly epoch: string;
  readonly ordinal: number;
  readonly gen: number;
  readonly base: number;
  /** The cursor at `base`; null before the first commit of a key's first epoch. */
  readonly cursor: Cursor | null;
  /** Digest of the last record before `base` that the graph held, and the position after it; null when there is none (ING-541). */
  readonly sha256_before: string | null;
  /** Absent in files of the first versions. */
  readonly position_before?: Position | null;
}

/** The generation that the state is read from. */
export function generationOf(state: KeyState): GenerationFile {
  return {
    v: version,
    workspace: state.workspace,
    session_id: state.session,
    epoch: state.epoch,
    ordinal: state.ordinal,
    gen: state.gen,
    base: state.base,
    cursor: state.baseCursor,
    sha256_before: state.before?.sha256 ?? null,
    position_before: state.before?.position ?? null,
  };
}

export function beforeOf({ sha256_before, position_before }: GenerationFile): AppliedBefore | null {
  return sha256_before === null
    ? null
    : { position: position_before ?? null, sha256: sha256_before };
}

export function encodeGeneration(content: GenerationFile): Buffer {
  return Buffer.from(`${JSON.stringify({ ...content, crc: crcOf(content) })}\n`, 'utf8');
}

function crcOf(content: object): string {
  return crc32cHex(Buffer.from(canonicalJson(content as JsonValue), 'utf8'));
}

/** Undefined for bytes that are not a whole generation file. A newer version is refused by name. */
export function decodeGeneration(bytes: Uint8Array): GenerationFile | undefined {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { crc, ...content } = value as GenerationFile & { readonly crc?: unknown };
  if (crc !== crcOf(content)) return undefined;
  const found: number = content.v;
  if (found > version) throw formatTooNew({ thing: 'a generation file', found, known: version });
  return content;
}
