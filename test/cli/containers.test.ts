import { parse } from 'yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  configKeyNames,
  environmentName,
  loadConfig,
  parseAddress,
  parseDurationMs,
} from '#config';
import type { CompletionNode } from '../../src/cli/commands/completion.ts';
import { stopSecondsOf } from '../../src/cli/serve/service-unit.ts';
import { runJson } from '../support/command-line.ts';
import { readText } from '../tidy/source-tree.ts';

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image?: string;
        readonly command?: readonly string[];
        readonly environment?: Readonly<Record<string, string>>;
        readonly ports?: readonly string[];
        readonly volumes?: readonly string[];
        readonly secrets?: readonly string[];
        readonly stop_grace_period?: string;
        readonly depends_on?: readonly string[];
      }
    >
  >;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

/** Instructions of the Dockerfile, continued lines joined. */
const instructions = readText('Dockerfile')
  .replaceAll(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  .map((line) => {
    const [word = '', ...rest] = line.trim().split(/\s+/);
    return { word, rest: rest.join(' ') };
  });
const last = (word: string): string =>
  instructions.findLast((instruction) => instruction.word === word)?.rest ?? '';
const compose = parse(readText('compose.yaml')) as Compose;
const variables = new Set(configKeyNames.map(environmentName));

let commands: readonly CompletionNode[] = [];
beforeAll(async () => {
  commands = (await runJson<{ commands: readonly CompletionNode[] }>('completion', 'bash'))
    .commands;
});

/** A command line of ours, of which every word that is no value must be known. */
function expectKnown(words: readonly string[]): void {
  const names = words.filter((word) => /^[a-z]+$/.test(word));
  const known = commands.findLast(({ path }) => path !== '' && names.join(' ').startsWith(path));
  expect(known, words.join(' ')).toBeDefined();
  for (const word of words)
    if (word.startsWith('--')) expect(known?.words, words.join(' ')).toContain(word);
}

describe('Dockerfile', () => {
  it('knows every instruction, ends as a user without rights, and pins what it is made of', () => {
    const known =
      /^(FROM|WORKDIR|COPY|RUN|USER|VOLUME|ENV|EXPOSE|STOPSIGNAL|HEALTHCHECK|ENTRYPOINT|CMD)$/;
    expect(instructions.map(({ word }) => word).filter((word) => !known.test(word))).toEqual([]);
    const { engines } = JSON.parse(readText('package.json')) as { engines: { node: string } };
    const least = Number(/\d+/.exec(engines.node)?.[0]);
    for (const { word, rest } of instructions)
      if (word === 'FROM') expect(Number(/^node:(\d+)-/.exec(rest)?.[1])).toBe(least);
    expect(last('USER')).toBe('node');
    expect(last('STOPSIGNAL')).toBe('SIGTERM');
  });

  it('starts a command line that there is, at the port that it tells', () => {
    const entry = JSON.parse(last('ENTRYPOINT')) as readonly string[];
    const command = JSON.parse(last('CMD')) as readonly string[];
    expect(entry).toEqual(['millrace']);
    expectKnown(command);
    const port = parseAddress(command[command.indexOf('--listen') + 1] ?? '')?.port;
    expect(String(port)).toBe(last('EXPOSE'));
    expect(last('HEALTHCHECK')).toContain(`127.0.0.1:${port}/livez`);
    expect(last('ENV')).toContain(`MILLRACE_ROOT=${last('VOLUME')}`);
  });

  it('shows commands in its comments that there are', () => {
    for (const text of [readText('Dockerfile'), readText('compose.yaml')])
      for (const [, line = ''] of text.matchAll(/# .*?\bmillrace ((?:tokens|serve) .*)$/gm))
        expectKnown(line.split(/\s+/).filter((word) => !word.includes(':')));
  });
});

/** What hadolint would say, as far as it applies here; its rules in brackets. */
describe('the Dockerfile, as a linter reads it', () => {
  const of = (word: string): readonly string[] =>
    instructions.filter((one) => one.word === word).map(({ rest }) => rest);

  it('pins its base images, names its stages, and copies from those alone (DL3006, DL3007, DL3022)', () => {
    const stages = of('FROM').map((rest) => / AS (\S+)$/.exec(rest)?.[1]);
    for (const rest of of('FROM')) expect(rest).toMatch(/^[a-z]+:\d[\w.-]*( AS \S+)?$/);
    for (const rest of of('COPY')) {
      const from = /--from=(\S+)/.exec(rest)?.[1];
      if (from !== undefined) expect(stages).toContain(from);
    }
  });

  it('has absolute work folders, no ADD, no sudo, nothing piped into a shell (DL3000, DL3004, DL3020, DL4006)', () => {
    for (const rest of of('WORKDIR')) expect(rest).toMatch(/^\//);
    expect(of('ADD')).toEqual([]);
    for (const rest of of('RUN')) {
      expect(rest).not.toMatch(/\bsudo\b|\bcd \b|\bapt(-get)? |\|\s*(sh|bash)\b/);
      // `npm ci` takes what the lock file says; an installation names its file (DL3016).
      if (/npm install/.test(rest)) expect(rest).toMatch(/\.tgz/);
    }
  });

  it('runs what package.json has, from a lock file that was copied before the sources', () => {
    const { scripts } = JSON.parse(readText('package.json')) as {
      scripts: Readonly<Record<string, string>>;
    };
    for (const rest of of('RUN'))
      for (const [, name = ''] of rest.matchAll(/npm run (\S+)/g))
        expect(Object.keys(scripts)).toContain(name);
    const words = instructions.map(({ word, rest }) => `${word} ${rest}`);
    const order = ['COPY package.json package-lock.json ./', 'RUN npm ci', 'COPY . .'];
    const places = order.map((line) => words.indexOf(line));
    expect(places.every((at) => at >= 0)).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it('has one way to start, in the form without a shell, and one look at its health (DL3012, DL3025, DL4003)', () => {
    for (const word of ['ENTRYPOINT', 'CMD', 'HEALTHCHECK', 'STOPSIGNAL'])
      expect(of(word), word).toHaveLength(1);
    for (const word of ['ENTRYPOINT', 'CMD']) expect(() => JSON.parse(last(word))).not.toThrow();
    const probe = /CMD (\[.*\])$/.exec(last('HEALTHCHECK'))?.[1];
    expect(JSON.parse(probe ?? '')).toHaveLength(3);
  });

  it('takes no secret and no history into the image, and git keeps none either', () => {
    const ignored = readText('.dockerignore').split('\n');
    for (const name of ['.git', 'node_modules', 'secrets']) expect(ignored).toContain(name);
    for (const { file } of Object.values(compose.secrets))
      expect(readText('.gitignore')).toContain(`${file.split('/')[1] ?? '?'}/`);
  });
});

describe('compose.yaml', () => {
  it('shows commands of docker compose for services that there are, and opens nothing beyond loopback', () => {
    const shown = [...readText('compose.yaml').matchAll(/^# .*docker compose (up|run) (.*)$/gm)];
    expect(shown.length).toBeGreaterThan(2);
    for (const [, , line = ''] of shown) {
      const [service] = line.split(' ').filter((word) => !word.startsWith('-'));
      if (service !== undefined) expect(Object.keys(compose.services)).toContain(service);
    }
    for (const { ports = [] } of Object.values(compose.services))
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('stops the daemon no sooner than its grace ends (ING-825)', () => {
    const { config } = loadConfig({});
    const stopMs = parseDurationMs(compose.services['millrace']?.stop_grace_period ?? '') ?? 0;
    expect(stopMs).toBeGreaterThanOrEqual(stopSecondsOf(config['shutdown.grace_ms']) * 1000);
  });

  it('sets what is a setting, and together they are valid', () => {
    const environment = compose.services['millrace']?.environment ?? {};
    for (const name of Object.keys(environment)) expect(variables, name).toContain(name);
    const { config } = loadConfig({ environment });
    expect(config['graph.store']).toBe('neo4j');
    const host = new URL(config['graph.neo4j.url']).hostname;
    expect(Object.keys(compose.services)).toContain(host);
    expect(readText('docs/neo4j.md')).toContain(` ${compose.services[host]?.image ?? '?'}\``);
  });

  it('names commands, volumes, secrets and services that there are', () => {
    for (const service of Object.values(compose.services)) {
      if (service.command !== undefined) expectKnown(service.command);
      for (const volume of service.volumes ?? [])
        expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
      for (const secret of service.secrets ?? [])
        expect(Object.keys(compose.secrets)).toContain(secret);
      for (const other of service.depends_on ?? [])
        expect(Object.keys(compose.services)).toContain(other);
    }
    expect(compose.services['millrace']?.ports).toEqual([`127.0.0.1:${last('EXPOSE')}:7117`]);
    const data = compose.services['millrace']?.volumes?.[0]?.split(':')[1];
    expect(data).toBe(last('VOLUME'));
  });
});
