import { formatTooNew, isJsonObject, JsonInvalid, parseJson, type JsonValue } from '#base';
import { isScope, type Scope } from './scopes.ts';

/** A token as the file keeps it: of the secret only the SHA-256 (ING-016). Times are RFC 3339 UTC with milliseconds. */
export interface StoredToken {
  readonly name: string;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly scopes: readonly Scope[];
  /** Null means all. */
  readonly workspaces: readonly string[] | null;
  readonly created_at: string;
  readonly changed_at: string;
  /** Null: never. */
  readonly expires_at: string | null;
}

export type ParsedTokens =
  | { readonly tokens: readonly StoredToken[]; readonly fault?: undefined }
  | { readonly tokens?: undefined; readonly fault: string };

const fileVersion = 1;

export function formatTokensFile(tokens: readonly StoredToken[]): Uint8Array {
  return Buffer.from(`${JSON.stringify({ v: fileVersion, tokens }, null, 2)}\n`, 'utf8');
}

/** Strict: who may write is never guessed from half a file. Throws FORMAT_TOO_NEW for a newer version. */
export function parseTokensFile(bytes: Uint8Array, path: string): ParsedTokens {
  let json: JsonValue;
  try {
    json = parseJson(bytes);
  } catch (error) {
    if (error instanceof JsonInvalid) return { fault: 'it is not JSON' };
    throw error;
  }
  if (!isJsonObject(json)) return { fault: 'it is not a JSON object' };
  const { v, tokens } = json;
  if (typeof v !== 'number') return { fault: 'it has no version' };
  if (v > fileVersion) throw formatTooNew({ thing: path, found: v, known: fileVersion });
  if (v !== fileVersion || !Array.isArray(tokens)) return { fault: 'it has no list of tokens' };
  return parseTokens(tokens as readonly JsonValue[]);
}

function parseTokens(list: readonly JsonValue[]): ParsedTokens {
  const tokens: StoredToken[] = [];
  for (const [at, value] of list.entries()) {
    const token = parseToken(value);
    if (token === undefined) return { fault: `token ${at + 1} is not one` };
    if (tokens.some(({ name, sha256 }) => name === token.name || sha256 === token.sha256))
      return { fault: `token ${at + 1} is there twice` };
    tokens.push(token);
  }
  return { tokens };
}

function parseToken(value: JsonValue): StoredToken | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, sha256, created_at, changed_at } = value;
  const workspaces = value['workspaces'] ?? null;
  const expires_at = value['expires_at'] ?? null;
  if (typeof name !== 'string' || name === '') return undefined;
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) return undefined;
  if (!isTime(created_at) || !isTime(changed_at)) return undefined;
  if (expires_at !== null && !isTime(expires_at)) return undefined;
  const scopes = value['scopes'];
  if (!isTexts(scopes) || !scopes.every(isScope)) return undefined;
  if (workspaces !== null && !isTexts(workspaces)) return undefined;
  return { name, sha256, scopes, workspaces, created_at, changed_at, expires_at };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}
