import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, JsonInvalid, messageOf, parseJson, sha256Hex } from '#base';
import type { TranslatorState } from '#formats';
import { outputFailed } from '../errors.ts';

/** How far a file was read, and what its rows so far say about those to come. */
export interface FollowState {
  readonly version: 1;
  readonly path: string;
  readonly inode: number;
  /** First byte that was not sent yet; always the begin of a line. */
  readonly offset: number;
  /** Lines before it. */
  readonly lines: number;
  /** SHA-256 of the first `headBytes`: another file may take the name, and even the inode. */
  readonly head: string;
  readonly headBytes: number;
  /** Time of rows in a file that tells none. */
  readonly time: string;
  readonly translator: TranslatorState;
}

/** One small file for each followed one, so that growth of one rewrites one. */
export interface WatchStates {
  /** Undefined for a file that was never read, and for a record that cannot be read: it is read from its begin, and what is known stays known. */
  load(path: string): FollowState | undefined;
  /** Durable when it returns; throws OUTPUT_FAILED. */
  save(state: FollowState): void;
}

export function openWatchStates(folder: string): WatchStates {
  const failing = <T>(fn: () => T): T => {
    try {
      return fn();
    } catch (error) {
      throw outputFailed({ path: folder, reason: messageOf(error) }, error);
    }
  };
  failing(() => mkdirSync(folder, { recursive: true, mode: 0o700 }));
  const fileOf = (path: string): string =>
    join(folder, `${sha256Hex(Buffer.from(path)).slice(0, 32)}.json`);
  return {
    load(path) {
      const text = textIn(fileOf(path));
      const value = text === undefined ? undefined : stateIn(text);
      return value?.path === path ? value : undefined;
    },
    save(state) {
      failing(() => replace(fileOf(state.path), JSON.stringify(state)));
    },
  };
}

function textIn(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function stateIn(text: string): FollowState | undefined {
  try {
    const value: unknown = parseJson(text);
    const isOurs =
      isJsonObject(value) && value['version'] === 1 && isJsonObject(value['translator']);
    return isOurs ? (value as unknown as FollowState) : undefined;
  } catch (error) {
    if (error instanceof JsonInvalid) return undefined;
    throw error;
  }
}

function replace(path: string, text: string): void {
  const fd = openSync(`${path}.new`, 'w', 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${path}.new`, path);
}
