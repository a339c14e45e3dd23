import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { consoleHeaders, createConsole } from '#console';
import { memoryDisk, nodeDisk } from '#disk';

const folder = join(import.meta.dirname, '..', '..', 'console');
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
  /\.(js|html|css|svg)$/.test(name),
);

describe('files of the console', () => {
  it('are its own pages and three libraries, each with its type, and nothing else', async () => {
    const { file } = createConsole({ disk: nodeDisk() });
    const paths = sources.map((name) => (name === 'index.html' ? '/' : `/console/${name}`));
    const vendored = ['cytoscape.js', 'uplot.js', 'uplot.css'].map(
      (name) => `/console/vendor/${name}`,
    );
    for (const path of [...paths, ...vendored]) {
      const found = await file(path);
      expect(found?.bytes.byteLength, path).toBeGreaterThan(0);
      const ending = path === '/' ? 'html' : (/\.(\w+)$/.exec(path)?.[1] ?? '');
      expect(found?.mediaType, path).toMatch(
        { js: /javascript/, html: /html/, css: /css/, svg: /svg/ }[ending] ?? /^$/,
      );
      expect(found?.etag, path).toMatch(/^"[0-9a-f]{32}"$/);
    }
    for (const path of [
      '',
      '/console',
      '/console/',
      '/console/index.html',
      '/console/tsconfig.json',
      '/console/vendor.d.ts',
      '/console/../package.json',
      '/console/%2e%2e/package.json',
      '/console/vendor/../app.js',
      '/console/vendor/cytoscape.esm.min.mjs',
      '/console/constructor',
      '/package.json',
    ])
      expect(await file(path), path).toBeUndefined();
  });

  it('are read once, and again after a read that failed', async () => {
    const disk = memoryDisk({ directories: ['/pages'] });
    const written = await disk.open('/pages/a.js', 'write');
    await written.writeAt([Buffer.from('1')], 0);
    let reads = 0;
    const failing = {
      readDirectory: disk.readDirectory.bind(disk),
      readFile(path: string) {
        reads += 1;
        return reads === 1 ? Promise.reject(new Error('EMFILE')) : disk.readFile(path);
      },
    };
    const { file } = createConsole({ disk: failing, folder: '/pages' });
    await expect(file('/console/a.js')).rejects.toThrow('EMFILE');
    expect(Buffer.from((await file('/console/a.js'))?.bytes ?? []).toString()).toBe('1');
    await file('/console/a.js');
    expect(reads).toBe(2);
  });

  it('hold no script and no style outside of their own files, and name no other host', () => {
    const html = readFileSync(join(folder, 'index.html'), 'utf8');
    expect(html).not.toMatch(/<style|\bon\w+=|\sstyle=|<script(?![^>]*\bsrc=)/);
    expect(consoleHeaders['content-security-policy']).not.toMatch(/unsafe|\*|https?:/);
    const wrong = sources.filter((name) =>
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|document\.cookie|\bhttps?:\/\/(?!www\.w3\.org\/2000\/svg)/.test(
        readFileSync(join(folder, name), 'utf8'),
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('have sound types', () => {
    const checked = spawnSync('tsc', ['--project', folder], { encoding: 'utf8' });
    expect(checked.stdout).toBe('');
    expect(checked.status).toBe(0);
  });
});
