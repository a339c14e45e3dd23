import { createHash, timingSafeEqual } from 'node:crypto';
import { messageOf, type Chance, type Clock } from '#base';
import { atomicReplace, type Disk, type StagingNames } from '#disk';
import { tokenExists, tokensFileCorrupt, tokensFileFailed } from './errors.ts';
import { checkNewToken } from './new-token.ts';
import type { Principal } from './principal.ts';
import { formatTokensFile, parseTokensFile, type StoredToken } from './tokens-file.ts';

/** A token as it may be shown: everything but the secret, which nobody can show again. */
export interface TokenView {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Undefined means all. */
  readonly workspaces?: readonly string[];
  /** RFC 3339 UTC with milliseconds, like the others. */
  readonly createdAt: string;
  readonly changedAt: string;
  readonly expiresAt?: string;
}

export interface NewToken {
  readonly name: string;
  readonly scopes: readonly string[];
  /** All when it is left out. */
  readonly workspaces?: readonly string[];
  /** Any text that `Date` reads; never when it is left out. */
  readonly expiresAt?: string;
}

export type Recognised =
  | { readonly principal: Principal; readonly refusal?: undefined }
  | { readonly principal?: undefined; readonly refusal: 'unknown' | 'expired' };

/** The tokens of a root. Every change is on disk before it is answered, and in force from then on without a restart. */
export interface TokenStore {
  /** Makes a token; the secret is in this answer and nowhere else. TOKEN_INVALID, TOKEN_EXISTS. */
  add(token: NewToken): Promise<{ readonly token: string; readonly view: TokenView }>;
  list(): Promise<readonly TokenView[]>;
  /** False when there is no token of this name. */
  revoke(name: string): Promise<boolean>;
  /** Reads the file again; when it cannot be used, what is in memory stays in force and TOKENS_FILE_CORRUPT is thrown. */
  reload(): Promise<void>;
  /** Whose secret this is. */
  recognise(secret: string, nowMs: number): Recognised;
  /** Expired ones count: a root with tokens never falls back to asking for none. */
  count(): number;
}

export interface TokenStoreOptions {
  readonly disk: Disk;
  readonly path: string;
  readonly names: StagingNames;
  readonly clock: Clock;
  readonly chance: Chance;
}

interface ActiveToken {
  readonly stored: StoredToken;
  readonly hash: Uint8Array;
  readonly principal: Principal;
  readonly expiresAtMs: number;
}

/** 256 bits: not to be guessed, so one plain SHA-256 keeps it (no salt, no stretching). */
const secretBytes = 32;
const secretPrefix = 'mrt_';

/** Opens the tokens of a root; a missing file is none. Throws TOKENS_FILE_CORRUPT or FORMAT_TOO_NEW: the start is refused. */
export async function openTokenStore(options: TokenStoreOptions): Promise<TokenStore> {
  const store = new FileTokenStore(options);
  await store.reload();
  return store;
}

class FileTokenStore implements TokenStore {
  readonly #options: TokenStoreOptions;
  #active: ReadonlyMap<string, ActiveToken> = new Map();
  /** Changes run one after another, since each replaces the whole file. */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(options: TokenStoreOptions) {
    this.#options = options;
  }

  count(): number {
    return this.#active.size;
  }

  list(): Promise<readonly TokenView[]> {
    return Promise.resolve(this.#stored().map(viewOf));
  }

  recognise(secret: string, nowMs: number): Recognised {
    const hash = createHash('sha256').update(secret).digest();
    const found = this.#active.get(hash.toString('hex'));
    if (found === undefined || !timingSafeEqual(found.hash, hash)) return { refusal: 'unknown' };
    return nowMs < found.expiresAtMs ? { principal: found.principal } : { refusal: 'expired' };
  }

  reload(): Promise<void> {
    return this.#change(async () => {
      await this.#read();
    });
  }

  add(token: NewToken): Promise<{ readonly token: string; readonly view: TokenView }> {
    return this.#change(async () => {
      const { clock, chance } = this.#options;
      const wanted = checkNewToken(token, clock.now());
      const tokens = await this.#read();
      if (tokens.some(({ name }) => name === wanted.name)) throw tokenExists({ name: wanted.name });
      const random = Buffer.from(chance.bytes(secretBytes)).toString('base64url');
      const secret = `${secretPrefix}${random}`;
      const sha256 = createHash('sha256').update(secret).digest('hex');
      const now = new Date(clock.now()).toISOString();
      const stored: StoredToken = { ...wanted, sha256, created_at: now, changed_at: now };
      await this.#replace([...tokens, stored]);
      return { token: secret, view: viewOf(stored) };
    });
  }

  revoke(name: string): Promise<boolean> {
    return this.#change(async () => {
      const tokens = await this.#read();
      const rest = tokens.filter((token) => token.name !== name);
      if (rest.length === tokens.length) return false;
      await this.#replace(rest);
      return true;
    });
  }

  #stored(): readonly StoredToken[] {
    return [...this.#active.values()].map(({ stored }) => stored);
  }

  #change<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#lastChange.then(change, change);
    // Who asked for a change hears of its failure; the next one only waits for it.
    this.#lastChange = result.catch(() => undefined);
    return result;
  }

  /** What is on disk is in force from then on: a replacement whose last step failed, or somebody else's edit. */
  async #read(): Promise<readonly StoredToken[]> {
    const { disk, path } = this.#options;
    const bytes = await this.#onDisk(async () => {
      const stat = await disk.stat(path);
      if (stat === undefined) return undefined;
      if ((stat.mode & 0o022) !== 0)
        throw tokensFileCorrupt({ path, reason: 'others may write it; chmod 600' });
      return disk.readFile(path);
    });
    const { tokens, fault } = bytes === undefined ? { tokens: [] } : parseTokensFile(bytes, path);
    if (tokens === undefined) throw tokensFileCorrupt({ path, reason: fault });
    this.#take(tokens);
    return tokens;
  }

  async #replace(tokens: readonly StoredToken[]): Promise<void> {
    const { disk, path, names } = this.#options;
    await this.#onDisk(() => atomicReplace(disk, path, formatTokensFile(tokens), names));
    this.#take(tokens);
  }

  /** Classifies what the disk threw (ING-024). */
  async #onDisk<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if (tokensFileCorrupt.is(error)) throw error;
      throw tokensFileFailed({ path: this.#options.path, reason: messageOf(error) }, error);
    }
  }

  #take(tokens: readonly StoredToken[]): void {
    this.#active = new Map(tokens.map((stored) => [stored.sha256, activate(stored)]));
  }
}

function activate(stored: StoredToken): ActiveToken {
  return {
    stored,
    hash: Buffer.from(stored.sha256, 'hex'),
    principal: {
      name: stored.name,
      scopes: new Set(stored.scopes),
      workspaces: stored.workspaces ?? undefined,
    },
    expiresAtMs:
      stored.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(stored.expires_at),
  };
}

function viewOf(stored: StoredToken): TokenView {
  return {
    name: stored.name,
    scopes: stored.scopes,
    ...(stored.workspaces === null ? {} : { workspaces: stored.workspaces }),
    createdAt: stored.created_at,
    changedAt: stored.changed_at,
    ...(stored.expires_at === null ? {} : { expiresAt: stored.expires_at }),
  };
}
