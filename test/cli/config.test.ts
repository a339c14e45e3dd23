import {
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { configKeyNames, configTemplate } from '#config';
import { startDaemon } from '../support/child-daemon.ts';
import { postLines } from '../support/daemon-client.ts';
import { runJson, runLine } from '../support/command-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

interface Checked {
  readonly ok: boolean;
  readonly problems: readonly { key: string; origin: string; problem: string }[];
}

interface Shown {
  readonly settings: readonly { key: string; value: unknown; origin: string; live: boolean }[];
}

describe('config', () => {
  it('prints a JSON schema that knows every key', async () => {
    const { code, out } = await runLine('config', 'schema');
    expect(code).toBe(0);
    const schema = JSON.parse(out) as { properties: Readonly<Record<string, unknown>> };
    expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(['queue', 'log.level']));
  });

  it('checks a file: 1 with every mistake, its line and what was meant (ING-931)', async () => {
    const bad = written('bad.yaml', 'queue:\n  fsnc: none\nlog:\n  level: loud\n');
    const text = await runLine('config', 'check', bad);
    expect(text.code).toBe(1);
    expect(text.out).toContain(`${bad}:2: queue.fsnc: is no setting; did you mean queue.fsync?`);
    const json = await runLine('config', 'check', bad, '--json');
    expect(json.code).toBe(1);
    const { ok, problems } = JSON.parse(json.out) as Checked;
    expect(ok).toBe(false);
    expect(problems.map(({ key, origin }) => `${key} ${origin}`)).toEqual([
      `queue.fsnc ${bad}:2`,
      `log.level ${bad}:4`,
    ]);
    const good = written('good.yaml', configTemplate());
    expect((await runLine('config', 'check', '--config', good)).out).toBe(`ok: ${good}`);
    expect((await runLine('config', 'check', join(folder, 'absent.yaml'))).code).toBe(1);
  });

  it('says so where the file of the user is not there', async () => {
    const saved = process.env['XDG_CONFIG_HOME'];
    process.env['XDG_CONFIG_HOME'] = join(folder, 'nobody');
    try {
      const ran = await runLine('config', 'check');
      expect([ran.code, ran.out]).toEqual([0, expect.stringContaining('is not there')]);
    } finally {
      if (saved === undefined) delete process.env['XDG_CONFIG_HOME'];
      else process.env['XDG_CONFIG_HOME'] = saved;
    }
  });

  it('shows every value with its origin (ING-932)', async () => {
    const file = written('show.yaml', '\nqueue:\n  max_bytes: 4GiB\n');
    const at = ['config', 'show', '--config', file, '--set', 'log.level=warn'];
    const { settings } = await runJson<Shown>(...at);
    expect(settings.map(({ key }) => key)).toEqual([...configKeyNames]);
    const changed = await runJson<Shown>(...at, '--changed');
    expect(changed.settings.map(({ key, value, origin }) => [key, value, origin])).toEqual([
      ['queue.max_bytes', 4 * 2 ** 30, `${file}:3`],
      ['log.level', 'warn', 'command line'],
    ]);
    expect((await runLine(...at)).out).toMatch(/^KEY +VALUE +LIVE +ORIGIN/);
  });
});

describe('init', () => {
  it('writes the commented file, makes root and first token, and keeps all of it the next time', async () => {
    const config = join(folder, 'new', 'millrace.yaml');
    const root = join(folder, 'init-root');
    const words = ['init', '--config', config, '--root', root];
    const made = await runJson<{ token: string; config_written: boolean }>(...words);
    expect(made.config_written).toBe(true);
    expect(readFileSync(config, 'utf8')).toBe(configTemplate());
    expect(statSync(config).mode & 0o777).toBe(0o600);
    expect(made.token).toMatch(/^mrt_/);
    expect(readFileSync(join(root, 'tokens.json'), 'utf8')).not.toContain(made.token);
    const audit = await runJson<{ tokens: readonly { name: string }[] }>(
      'tokens',
      'list',
      '--root',
      root,
    );
    expect(audit.tokens).toEqual([expect.objectContaining({ name: 'ops' })]);
    expect(await runJson(...words)).toMatchObject({ config_written: false, token: null });
    expect((await runLine(...words)).out).toContain('it is there already');
  });

  it('makes nothing but the file with --no-token, and says the next commands', async () => {
    const config = join(folder, 'plain.yaml');
    const root = join(folder, 'no-root');
    const { code, out } = await runLine('init', '--config', config, '--root', root, '--no-token');
    expect(code).toBe(0);
    expect(out).toContain(`millrace serve --config ${config}`);
    expect(existsSync(root)).toBe(false);
  });
});

describe('a running daemon', () => {
  it('reloads what is live, tells what needs a restart, and lets go of a rotated log', async () => {
    const log = join(folder, 'millrace.log');
    const config = written('live.yaml', `log.file: ${log}\n`);
    const daemon = await startDaemon({ root: join(folder, 'root'), args: ['--config', config] });
    try {
      const at = ['--url', daemon.url];
      const running = async (key: string): Promise<unknown> =>
        (await runJson<Shown>('config', 'show', '--running', ...at)).settings.find(
          (one) => one.key === key,
        )?.value;
      written('live.yaml', `log.file: ${log}\nqueue.max_bytes: 1GiB\nqueue.fsync: none\n`);
      expect(await runJson('config', 'reload', ...at)).toMatchObject({
        applied: [{ key: 'queue.max_bytes', to: 2 ** 30, origin: `${config}:2` }],
        needs_restart: [{ key: 'queue.fsync', from: 'group', to: 'none' }],
      });
      const limits = await (await fetch(`${daemon.url}/v1/limits`)).json();
      expect(limits).toMatchObject({ limits: { 'queue.max_bytes': 2 ** 30 } });
      written('live.yaml', 'queue.max_byte: 1\n');
      const refused = await runLine('config', 'reload', ...at);
      expect(refused.code).toBe(1);
      expect(refused.err).toContain('did you mean queue.max_bytes?');
      expect(await running('queue.max_bytes')).toBe(2 ** 30);
      const rotated = `${log}.1`;
      renameSync(log, rotated);
      process.kill(daemon.pid, 'SIGUSR1');
      await expect.poll(() => existsSync(log)).toBe(true);
      expect(statSync(log).mode & 0o777).toBe(0o600);
      written('live.yaml', `log.file: ${log}\nlog.level: debug\n`);
      process.kill(daemon.pid, 'SIGHUP');
      await expect.poll(() => running('log.level')).toBe('debug');
      expect(readFileSync(log, 'utf8')).toContain('CONFIG_RELOADED');
      await postLines(daemon.url, [
        '{"event":"session:start","workspace":"w","data":{"session_id":"s","timestamp":"2026-05-01T10:00:00Z"}}',
      ]);
      await expect.poll(() => readFileSync(log, 'utf8')).toContain('group_applied');
      expect(readFileSync(rotated, 'utf8')).toContain('daemon_ready');
      expect(daemon.output()).toBe('');
    } finally {
      await daemon.kill();
    }
  });

  it('is refused where its log file cannot be written', async () => {
    const { code, err } = await runLine(
      'serve',
      '--root',
      join(folder, 'no-log'),
      '--port',
      '0',
      '--set',
      `log.file=${folder}`,
    );
    expect(code).toBe(78);
    expect(err).toContain('log.file (command line): cannot be written');
  });
});
