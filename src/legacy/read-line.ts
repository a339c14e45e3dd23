import { isJsonObject, JsonInvalid, parseJson, sha256Hex, sliceMembers } from '#base';
import type { Translated, Translator } from '#formats';

/** A line of a log, or the payload of a dead letter, as admission takes it. */
export type LegacyLine =
  | {
      readonly kind: 'event';
      /** The body of `POST /v1/events`, one line. */
      readonly body: string;
      /** Who had sent it, as the predecessor had proved it; undefined where it asked nobody. */
      readonly by: string | undefined;
    }
  | Exclude<Translated, { kind: 'event' }>;

/** What the predecessor itself put into each line: not the client's, and no part of the event. */
const ownMembers: ReadonlySet<string> = new Set(['created_by', '_ci_event_identity']);

/** Reads one stored line (facts of the predecessor, 3.1). Pure. The event keeps its own bytes, and its id or the one that its client gives it. */
export function readLegacyLine(line: Uint8Array, translator: Translator): LegacyLine {
  const own = takeOwn(line);
  const translated = translator.translate(own.rest);
  return translated.kind === 'event' ? { ...translated, by: own.by } : translated;
}

function takeOwn(line: Uint8Array): { readonly rest: Uint8Array; readonly by: string | undefined } {
  const value = objectIn(line);
  if (value === undefined) return { rest: line, by: undefined };
  const { created_by: given } = value;
  const by = typeof given === 'string' && given.trim() !== '' ? given : undefined;
  const members = sliceMembers(line);
  if (!members.some(({ key }) => ownMembers.has(key))) return { rest: line, by };
  const kept = members
    .filter(({ key }) => !ownMembers.has(key))
    .map(({ keyStart, end }) => Buffer.from(line.subarray(keyStart, end)).toString('utf8'));
  return { rest: Buffer.from(`{${kept.join(',')}}`, 'utf8'), by };
}

/** Undefined for what is no JSON object: the translator says why. */
function objectIn(line: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseJson(line);
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof JsonInvalid) return undefined;
    throw error;
  }
}

/** A dead letter of the predecessor. */
export interface LegacyLetter {
  /** RFC 3339 UTC, or the text that stood there. */
  readonly since: string;
  readonly error: string;
  readonly payload: Uint8Array;
}

/** `{"ts", "error", "payload" | "payload_b64"}`; undefined for a line that is none (U6, ING-218, ING-414). Pure. */
export function readLegacyLetter(line: Uint8Array): LegacyLetter | undefined {
  const value = objectIn(line);
  if (value === undefined) return undefined;
  const { ts, error, payload, payload_b64: encoded } = value;
  const bytes =
    typeof payload === 'string'
      ? Buffer.from(payload, 'utf8')
      : typeof encoded === 'string'
        ? Buffer.from(encoded, 'base64')
        : undefined;
  if (bytes === undefined) return undefined;
  return { since: timeOf(ts), error: typeof error === 'string' ? error : '', payload: bytes };
}

const latestSeconds = 253_402_300_799;

function timeOf(ts: unknown): string {
  if (typeof ts === 'number' && ts >= 0 && ts <= latestSeconds)
    return new Date(ts * 1000).toISOString();
  return typeof ts === 'string' && ts !== '' ? ts : 'an unknown time';
}

/** Digests of the payloads of live letters, each with its count: what excuses a line of the log, at most one line each (ING-708). */
export class DeadPayloads {
  readonly #counts = new Map<string, number>();

  add(payload: Uint8Array): void {
    const digest = sha256Hex(payload);
    this.#counts.set(digest, (this.#counts.get(digest) ?? 0) + 1);
  }

  /** True when a letter has these bytes and has excused no line yet. */
  take(line: Uint8Array): boolean {
    if (this.#counts.size === 0) return false;
    const digest = sha256Hex(line);
    const count = this.#counts.get(digest) ?? 0;
    if (count === 1) this.#counts.delete(digest);
    else if (count > 1) this.#counts.set(digest, count - 1);
    return count > 0;
  }
}
