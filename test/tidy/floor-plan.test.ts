import { dirname, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importsOf, listFiles, readText } from './source-tree.ts';

/** The house from the ground up; an import points down this list (docs/architecture.md). */
const rooms = [
  'base',
  'config',
  'signals',
  'disk',
  'record',
  'control',
  'fence',
  'state',
  'objects',
  'queue',
  'graph',
  'roots',
  'access',
  'formats',
  'handlers',
  'ingest',
  'drain',
  'dead-letters',
  'backup',
  'keeping',
  'legacy',
  'ops',
  'console',
  'http',
  'daemon',
  'lab',
  'mcp',
  'cli',
] as const;

/** Plugs, and the highest room that each may use. */
const plugCeiling = 'queue';
const plugSpecifiers = /^#(queue-backends\/|graph\/(embedded|memory|neo4j))/;

function roomOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

const sources = listFiles('src', 'queue-backends').filter((path) => path.endsWith('.ts'));

describe('floor plan', () => {
  it('knows every room of src', () => {
    const unknown = [...new Set(sources.map(roomOf))].filter(
      (room) => room !== undefined && !(rooms as readonly string[]).includes(room),
    );
    expect(unknown, 'add the room to the floor plan and to docs/architecture.md').toEqual([]);
  });

  it('lets imports point down only', () => {
    const wrong: string[] = [];
    for (const file of sources) {
      const room = roomOf(file) ?? plugCeiling;
      const isPlug = roomOf(file) === undefined;
      for (const { specifier, line } of importsOf(file)) {
        if (!specifier.startsWith('#')) continue;
        const target = specifier.slice(1).split('/')[0] ?? '';
        if (plugSpecifiers.test(specifier)) continue;
        const own = (rooms as readonly string[]).indexOf(room);
        const other = (rooms as readonly string[]).indexOf(target);
        if (other < 0) wrong.push(`${file}:${line} names the unknown room ${specifier}`);
        else if (isPlug ? other > own : other >= own)
          wrong.push(`${file}:${line} imports ${specifier} upwards: move the shape down instead`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('enters a room by its door only', () => {
    const wrong: string[] = [];
    for (const file of sources) {
      const home =
        roomOf(file) === undefined ? file.split('/').slice(0, 2).join('/') : `src/${roomOf(file)}`;
      for (const { specifier, line } of importsOf(file)) {
        if (!specifier.startsWith('.')) continue;
        const target = posix.join(dirname(file), specifier);
        if (!target.startsWith(`${home}/`) && target !== home)
          wrong.push(`${file}:${line} leaves its room by ${specifier}: import the room's #door`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('names a plug in daemon/assemble.ts alone, and in the laboratory', () => {
    const wrong = sources
      .filter((file) => file !== 'src/daemon/assemble.ts' && !file.startsWith('src/lab/'))
      .flatMap((file) => importsOf(file))
      .filter(({ specifier }) => plugSpecifiers.test(specifier))
      .map(({ file, line, specifier }) => `${file}:${line} names the plug ${specifier}`);
    expect(wrong).toEqual([]);
  });

  it('opens each door with the five lines', () => {
    const words = ['Lives here:', 'Not here:', 'Promises:', 'May call:', 'Called by:'];
    const wrong = rooms
      .filter((room) => sources.includes(`src/${room}/index.ts`))
      .filter((room) => {
        const text = readText(`src/${room}/index.ts`);
        return words.some((word) => !text.includes(word));
      });
    expect(wrong, 'say what lives here, what does not, the promises, who may be called').toEqual(
      [],
    );
  });

  it('keeps every source file in use', () => {
    const named = new Set<string>();
    const everywhere = listFiles('src', 'queue-backends', 'test', 'bench', 'bin').filter((path) =>
      /\.[jt]s$/.test(path),
    );
    for (const file of everywhere) {
      for (const { specifier } of importsOf(file)) {
        if (specifier.startsWith('.')) named.add(posix.join(dirname(file), specifier));
      }
    }
    const dead = sources.filter((file) => !file.endsWith('/index.ts') && !named.has(file));
    expect(dead, 'delete the file or use it').toEqual([]);
  });
});
