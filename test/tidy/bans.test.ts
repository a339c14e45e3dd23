import { describe, expect, it } from 'vitest';
import { listFiles, readText, withoutComments } from './source-tree.ts';

interface Ban {
  readonly pattern: RegExp;
  readonly cure: string;
  /** Where it is the one right place. */
  readonly allowed: RegExp;
}

const bans: readonly Ban[] = [
  {
    pattern: /\bDate\.now\(|\bperformance\.now\(/,
    cure: 'take a Clock (D18)',
    allowed: /^src\/base\/clock\.ts$/,
  },
  {
    pattern: /\bset(Timeout|Interval|Immediate)\(/,
    cure: 'use Clock.after or Clock.sleep (D18)',
    allowed: /^src\/(base\/clock|lab\/simulated-clock)\.ts$/,
  },
  {
    pattern: /\bMath\.random\(|\brandomUUID\(|\brandomBytes\(/,
    cure: 'take a Chance (D18)',
    allowed: /^src\/base\/chance\.ts$/,
  },
  {
    pattern: /\bprocess\.env\b/,
    cure: 'read it in config and pass it in',
    allowed: /^src\/config\//,
  },
  {
    pattern: /\bconsole\./,
    cure: 'write through the CLI printer or a signal',
    allowed: /^src\/cli\//,
  },
  {
    pattern: /['"](?:node:)?readline(?:\/promises)?['"]/,
    cure: 'split at byte 0x0A: readline also splits at U+2028 (D14)',
    allowed: /^$/,
  },
  { pattern: /AsyncLocalStorage/, cure: 'pass a guard object (D7)', allowed: /^$/ },
  {
    pattern: /['"]node:fs(?:\/promises)?['"]/,
    cure: 'go through Disk (D18)',
    allowed: /^src\/(disk|cli|roots|lab)\//,
  },
  { pattern: /['"]lmdb['"]/, cure: 'use #state', allowed: /^src\/state\// },
  {
    pattern: /['"]node:sqlite['"]/,
    cure: 'use #control, #graph or #disk',
    allowed: /^src\/(control|disk|graph\/embedded)\//,
  },
  { pattern: /['"]fastify['"]/, cure: 'routes live in http', allowed: /^src\/http\// },
  {
    pattern: /['"]commander['"]/,
    cure: 'verbs live in ops, their words in cli',
    allowed: /^src\/cli\//,
  },
  {
    pattern: /['"]pino['"]|['"]prom-client['"]/,
    cure: 'publish a signal',
    allowed: /^src\/signals\//,
  },
  {
    pattern: /offset\.json/,
    cure: 'only the offset-record writer names it (ING-202)',
    allowed: /^queue-backends\/filesystem\/session\/offset-record\.ts$/,
  },
  {
    pattern: /::orch_run::/,
    cure: 'resolveRun alone composes run ids (ING-601)',
    allowed: /^src\/handlers\/(resolve-run|run-id)\.ts$/,
  },
  {
    pattern: /FencePermit\.issue\(/,
    cure: 'only room fence makes permits (FEN-404)',
    allowed: /^src\/fence\//,
  },
  {
    pattern: /\bas any\b|@ts-ignore|@ts-nocheck|@ts-expect-error/,
    cure: 'parse at the edge; inside, types are true',
    allowed: /^$/,
  },
  {
    pattern: /catch\s*(\([^)]*\))?\s*\{\s*\}/,
    cure: 'a catch that hides loses data: handle, classify or rethrow',
    allowed: /^$/,
  },
];

const drawers =
  /(^|\/)(utils?|common|misc|types|manager|service|processor|helpers?|shared|lib)(\.ts|\/)/;

const sources = listFiles('src', 'queue-backends').filter((path) => path.endsWith('.ts'));

describe('bans', () => {
  for (const ban of bans) {
    it(`keeps ${String(ban.pattern)} where it belongs: ${ban.cure}`, () => {
      const wrong = sources
        .filter((file) => !ban.allowed.test(file))
        .flatMap((file) =>
          withoutComments(readText(file))
            .split('\n')
            .map((text, at) => ({ text, place: `${file}:${at + 1}` }))
            .filter(({ text }) => ban.pattern.test(text))
            .map(({ place }) => `${place}: ${ban.cure}`),
        );
      expect(wrong).toEqual([]);
    });
  }

  it('has no drawer names', () => {
    expect(
      listFiles('src', 'queue-backends', 'test', 'bench').filter((path) => drawers.test(path)),
    ).toEqual([]);
  });

  it('names files in kebab-case', () => {
    const wrong = listFiles('src', 'queue-backends', 'test', 'bench')
      .filter((path) => path.endsWith('.ts') && !path.startsWith('test/data/'))
      .filter((path) => !/^[a-z0-9-]+(\.test)?\.ts$/.test(path.split('/').at(-1) ?? ''));
    expect(wrong).toEqual([]);
  });
});
