import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repositoryRoot: string = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Paths of all tracked and new files below a folder, relative to the repository, as git sees them. */
export function listFiles(...folders: string[]): string[] {
  const out = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...folders],
    { cwd: repositoryRoot, encoding: 'utf8', maxBuffer: 32 * 1024 * 1024 },
  );
  return [...new Set(out.split('\n').filter((path) => path !== ''))]
    .filter((path) => existsSync(join(repositoryRoot, path)))
    .sort();
}

export function readText(path: string): string {
  return readFileSync(join(repositoryRoot, path), 'utf8');
}

export interface ImportLine {
  readonly file: string;
  readonly line: number;
  readonly specifier: string;
}

const importPattern = /(?:from\s+|import\s+|import\(\s*|new URL\(\s*)(['"])([^'"\n]+)\1/g;

/** Every module that a file names: static, side-effect and dynamic imports, and worker files by URL. */
export function importsOf(file: string): ImportLine[] {
  const text = withoutComments(readText(file));
  const found: ImportLine[] = [];
  for (const match of text.matchAll(importPattern)) {
    const specifier = match[2] ?? '';
    const line = text.slice(0, match.index).split('\n').length;
    found.push({ file, line, specifier });
  }
  return found;
}

/** Blanks comments, keeping line numbers. Good enough for the house's own style: no `//` inside strings but after a colon. */
export function withoutComments(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(
      /(^|[^:'"`\\])\/\/[^\n]*/g,
      (comment, before: string) => before + ' '.repeat(comment.length - before.length),
    );
}
