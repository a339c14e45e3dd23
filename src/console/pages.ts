import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { sha256Hex } from '#base';
import type { Disk } from '#disk';

export interface ConsoleFile {
  readonly bytes: Uint8Array;
  readonly gzipped: Uint8Array;
  readonly mediaType: string;
  /** Quoted, as HTTP wants it. */
  readonly etag: string;
}

/** The console as a set of paths that was fixed when it was loaded. */
export interface Console {
  /** Undefined for any path that is not one of the console's own. */
  file(path: string): Promise<ConsoleFile | undefined>;
}

export interface ConsoleOptions {
  readonly disk: Pick<Disk, 'readDirectory' | 'readFile'>;
  /** Folder of the pages; that of the product where it is not given. */
  readonly folder?: string;
}

const pages = join(import.meta.dirname, '..', '..', 'console');

const mediaTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Libraries as their packages hold them; the names are ours. */
const vendored: Readonly<Record<string, string>> = {
  '/console/vendor/cytoscape.js': 'cytoscape/dist/cytoscape.esm.min.mjs',
  '/console/vendor/uplot.js': 'uplot/dist/uPlot.esm.js',
  '/console/vendor/uplot.css': 'uplot/dist/uPlot.min.css',
};

/** Reads nothing yet: the first request does, once for all, so that a daemon that nobody looks at holds no pages. */
export function createConsole({ disk, folder = pages }: ConsoleOptions): Console {
  let files: Promise<ReadonlyMap<string, string>> | undefined;
  const loaded = new Map<string, Promise<ConsoleFile | undefined>>();
  return {
    async file(path) {
      files ??= listFiles(disk, folder);
      try {
        const place = (await files).get(path);
        if (place === undefined) return undefined;
        const known = loaded.get(path) ?? load(disk, place, mediaTypeOf(path));
        loaded.set(path, known);
        return await known;
      } catch (error) {
        // What a busy disk refused is read again by the next request.
        files = undefined;
        loaded.delete(path);
        throw error;
      }
    },
  };
}

/** Path of a request → file. What is not of a known type is not served. */
async function listFiles(
  disk: ConsoleOptions['disk'],
  folder: string,
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const visit = async (directory: string, prefix: string): Promise<void> => {
    for (const { name, kind } of await disk.readDirectory(directory)) {
      if (kind === 'directory') await visit(join(directory, name), `${prefix}${name}/`);
      else if (mediaTypeOf(name) !== undefined)
        files.set(`${prefix}${name}`, join(directory, name));
    }
  };
  await visit(folder, '/console/');
  const index = files.get('/console/index.html');
  files.delete('/console/index.html');
  if (index !== undefined) files.set('/', index);
  for (const [path, specifier] of Object.entries(vendored))
    files.set(path, fileURLToPath(import.meta.resolve(specifier)));
  return files;
}

function mediaTypeOf(path: string): string | undefined {
  if (path === '/') return mediaTypes['html'];
  return mediaTypes[/\.([a-z]+)$/.exec(path)?.[1] ?? ''];
}

const compress = promisify(gzip);

async function load(
  disk: ConsoleOptions['disk'],
  place: string,
  mediaType = 'application/octet-stream',
): Promise<ConsoleFile | undefined> {
  const bytes = await disk.readFile(place);
  if (bytes === undefined) return undefined;
  const etag = `"${sha256Hex(bytes).slice(0, 32)}"`;
  return { bytes, gzipped: await compress(bytes), mediaType, etag };
}
