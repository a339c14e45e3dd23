import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import type { CompletionNode } from '../../src/cli/commands/completion.ts';
import { verbCommands } from '../../src/cli/verbs/verb-table.ts';
import { runJson, runLine } from '../support/command-line.ts';

let nodes: readonly CompletionNode[] = [];
beforeAll(async () => {
  nodes = (await runJson<{ commands: readonly CompletionNode[] }>('completion', 'bash')).commands;
});

const isGroup = ({ words }: CompletionNode): boolean => words.some((word) => /^\w/.test(word));

describe('completion', () => {
  it('knows every verb of the table', () => {
    const paths = nodes.map(({ path }) => path);
    for (const { words } of verbCommands) {
      const path = words.split(' ').filter((word) => /^\w/.test(word));
      expect(paths).toContain(path.join(' '));
    }
    expect(new Set(paths).size).toBe(paths.length);
  });

  it('of bash gives the words of each command, and those of its beginning', async () => {
    const { out } = await runLine('completion', 'bash');
    const ask = (words: readonly string[], current: string): string =>
      `COMP_WORDS=(millrace ${[...words, `'${current}'`].join(' ')}); COMP_CWORD=${words.length + 1}; _millrace; echo "\${COMPREPLY[@]}"`;
    const script = [
      out,
      ...nodes.map(({ path }) => ask(path.split(' ').filter(Boolean), '')),
      ask(['sessions', '--json', 'list'], '--se'),
      ask([], 'sess'),
    ].join('\n');
    const lines = execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\n');
    for (const [at, { path, words }] of nodes.entries())
      expect(lines[at]?.split(' '), path).toEqual([...words]);
    expect(lines[nodes.length]).toBe('--search');
    expect(lines[nodes.length + 1]).toBe('sessions');
  });

  it('of zsh and fish names every verb and option', async () => {
    for (const shell of ['zsh', 'fish']) {
      const { out } = await runLine('completion', shell);
      for (const { path, words } of nodes) {
        expect(out).toContain(`"${path}"`);
        for (const word of words) expect(out).toContain(word.replace(/^--/, ''));
      }
    }
    expect((await runLine('completion', 'tcsh')).code).toBe(2);
  });
});

describe('help', () => {
  it('of every command says what it is for, what each option means, and shows an example', async () => {
    for (const node of nodes) {
      const { code, out } = await runLine(...node.path.split(' ').filter(Boolean), '--help');
      expect(code, node.path).toBe(0);
      expect(node.summary.length, node.path).toBeGreaterThan(10);
      if (isGroup(node)) continue;
      expect(out, node.path).toMatch(/Examples:\n {2}\$ .*millrace/);
      for (const word of node.words) expect(out).toMatch(new RegExp(`${word}\\b.*\\S`));
    }
  });

  it('of the program has what a manual page has', async () => {
    const { out } = await runLine('--help');
    for (const part of ['Environment:', 'Files:', 'Exit codes:', 'First steps:'])
      expect(out).toContain(part);
  });
});
