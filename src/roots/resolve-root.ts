import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { rootInvalid } from './errors.ts';

export type RootSource = 'cli' | 'env' | 'platform_default';

export interface ChosenRoot {
  /** Absolute. */
  readonly path: string;
  readonly source: RootSource;
}

export interface RootSelectors {
  /** `--root` */
  readonly flag?: string | undefined;
  /** MILLRACE_ROOT */
  readonly environment?: string | undefined;
  readonly platformDefault: string;
}

/** The first source that is set decides alone, an empty one too, which is invalid (ROOT-20 to ROOT-23). Pure but for the home folder. */
export function resolveRoot(selectors: RootSelectors): ChosenRoot {
  if (selectors.flag !== undefined) return chosen(selectors.flag, 'cli');
  if (selectors.environment !== undefined) return chosen(selectors.environment, 'env');
  return chosen(selectors.platformDefault, 'platform_default');
}

function chosen(text: string, source: RootSource): ChosenRoot {
  const what = source === 'cli' ? '--root' : 'MILLRACE_ROOT';
  if (text.trim() === '')
    throw rootInvalid({ root: '', reason: `${what} is empty: name a folder or leave it out` });
  if (text.includes('\0')) throw rootInvalid({ root: '', reason: `${what} holds a NUL` });
  const expanded = text === '~' || text.startsWith('~/') ? join(homedir(), text.slice(1)) : text;
  return { path: resolve(expanded), source };
}
