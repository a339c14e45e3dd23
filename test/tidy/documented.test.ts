import { describe, expect, it } from 'vitest';
import { registeredCodes } from '#base';
import { listFiles, readText } from './source-tree.ts';

// The doors of the topmost rooms pull in every room that defines a code.
await import('#daemon');
await import('#lab');
await import('#cli');

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readText('package.json')) as Manifest;

describe('documented', () => {
  it('lists every error code with its disposition, and no other', () => {
    const rows = [...readText('docs/errors.md').matchAll(/^\| `([A-Z0-9_]+)` \| (\w+) \|/gm)].map(
      (match) => `${match[1]} ${match[2]}`,
    );
    const defined = registeredCodes().map(({ code, disposition }) => `${code} ${disposition}`);
    expect(rows.toSorted()).toEqual(defined.toSorted());
  });

  it('lists every metric, and no other', async () => {
    const { metricNames } = await import('#signals');
    const rows = [...readText('docs/metrics.md').matchAll(/^\| `(millrace_[a-z0-9_]+)`/gm)].map(
      (match) => match[1],
    );
    expect(rows.toSorted()).toEqual([...metricNames].toSorted());
  });

  it('says why each dependency is there', () => {
    const rows = [...readText('docs/dependencies.md').matchAll(/^\| `([^`]+)` \|/gm)].map(
      (match) => match[1],
    );
    const used = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.devDependencies)];
    expect(rows.toSorted()).toEqual(used.toSorted());
  });

  it('keeps the changelog in form, with the product version on top', () => {
    const headings = [...readText('CHANGELOG.md').matchAll(/^## \[([^\]]+)\]/gm)].map(
      (match) => match[1],
    );
    expect(headings[0]).toBe('Unreleased');
    expect(headings[1]).toBe(manifest.version);
    const sections = [...readText('CHANGELOG.md').matchAll(/^### (\w+)/gm)].map(
      (match) => match[1],
    );
    const known = new Set([
      'Added',
      'Changed',
      'Fixed',
      'Removed',
      'Format',
      'Security',
      'Deprecated',
    ]);
    expect(sections.filter((section) => !known.has(section ?? ''))).toEqual([]);
  });

  it('says of the queue protocol in the changelog what the surface is (ING-903)', async () => {
    const members = [
      ...(
        /export interface QueueBackend \{([\s\S]*?)\n\}/.exec(
          readText('src/queue/backend.ts'),
        )?.[1] ?? ''
      ).matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm),
    ].map((match) => match[1]);
    const told = /On the protocol: ([^\n]+)/.exec(readText('CHANGELOG.md'))?.[1] ?? '';
    expect([...told.matchAll(/`(\w+)`/g)].map((match) => match[1]).toSorted()).toEqual(
      members.toSorted(),
    );
  });

  it('has only links that lead somewhere', () => {
    const files = new Set(listFiles('.'));
    const broken = listFiles('.')
      .filter((path) => path.endsWith('.md') && !path.startsWith('test/data/'))
      .flatMap((path) =>
        [...readText(path).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
          .map((match) => match[1] ?? '')
          .filter((target) => !/^[a-z]+:/.test(target))
          .filter((target) => {
            const parts = [...path.split('/').slice(0, -1), ...target.split('/')];
            const resolved: string[] = [];
            for (const part of parts) {
              if (part === '..') resolved.pop();
              else if (part !== '.' && part !== '') resolved.push(part);
            }
            const full = resolved.join('/');
            return !files.has(full) && ![...files].some((file) => file.startsWith(`${full}/`));
          })
          .map((target) => `${path} → ${target}`),
      );
    expect(broken).toEqual([]);
  });
});
