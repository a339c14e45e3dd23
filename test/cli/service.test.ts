import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
  mkdirSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '#config';
import { planService, stopSecondsOf, type ServiceOrder } from '../../src/cli/serve/service-unit.ts';
import { runJson, runLine } from '../support/command-line.ts';

const order: ServiceOrder = {
  manager: 'systemd',
  scope: 'user',
  name: 'millrace',
  node: '/opt/node/bin/node',
  program: '/opt/millrace/bin/millrace.js',
  root: '/srv/mill race',
  config: '/etc/100%.yaml',
  graceMs: 130_000,
  runAs: undefined,
  home: '/home/a',
  configHome: '/home/a/.config',
};

describe('the unit', () => {
  it('waits longer for a stop than the daemon takes, whatever is set (ING-825)', () => {
    const { config } = loadConfig({});
    for (const graceMs of [1, 999, config['shutdown.grace_ms'], 3_600_000]) {
      const seconds = stopSecondsOf(graceMs);
      expect(seconds * 1000).toBeGreaterThan(graceMs);
      for (const manager of ['systemd', 'launchd'] as const)
        expect(planService({ ...order, manager, graceMs }).text).toMatch(
          new RegExp(`(TimeoutStopSec=|<integer>)${seconds}\\b`),
        );
    }
  });

  it('quotes what systemd would read otherwise', () => {
    expect(planService(order).text).toContain(
      'ExecStart=/opt/node/bin/node /opt/millrace/bin/millrace.js serve --root "/srv/mill race" --config /etc/100%%.yaml',
    );
  });

  it('of launchd is well-formed, and names what it starts', () => {
    const plan = planService({ ...order, manager: 'launchd', root: '/a&b' });
    expect(plan.path).toBe('/home/a/Library/LaunchAgents/dev.millrace.millrace.plist');
    expect(plan.text).toContain('<string>/a&amp;b</string>');
    const opened = plan.text.match(/<(\w+)[ >]/g)?.length ?? 0;
    expect(opened).toBeGreaterThan(20);
  });

  it('is one that systemd takes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-unit-'));
    try {
      const path = join(folder, 'millrace.service');
      const node = process.execPath;
      writeFileSync(path, planService({ ...order, node, program: node, scope: 'system' }).text);
      if (!existsSync('/usr/bin/systemd-analyze')) return;
      const said = execFileSync('/usr/bin/systemd-analyze', ['verify', '--man=no', path], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      expect(said).not.toContain('millrace.service');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe.skipIf(process.platform === 'darwin')('service', () => {
  let folder = '';
  const saved = { path: process.env['PATH'], config: process.env['XDG_CONFIG_HOME'] };
  const calls = (): string =>
    existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8') : '';
  const unit = (): string => join(folder, 'config', 'systemd', 'user', 'millrace.service');

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-service-'));
    const systemctl = join(folder, 'systemctl');
    writeFileSync(systemctl, `#!/bin/sh\necho "$@" >> ${folder}/calls\n`);
    chmodSync(systemctl, 0o755);
    process.env['PATH'] = `${folder}:${saved.path}`;
    process.env['XDG_CONFIG_HOME'] = join(folder, 'config');
  });
  afterEach(() => {
    process.env['PATH'] = saved.path;
    if (saved.config === undefined) delete process.env['XDG_CONFIG_HOME'];
    else process.env['XDG_CONFIG_HOME'] = saved.config;
    rmSync(folder, { recursive: true, force: true });
  });

  it('is installed, shown and taken away again; the root stays', async () => {
    const root = join(folder, 'root');
    mkdirSync(root);
    const printed = await runLine('service', 'install', '--root', root, '--print');
    expect(printed.out).toContain('systemctl --user enable --now millrace.service');
    expect(calls()).toBe('');
    expect((await runLine('service', 'status')).code).toBe(1);
    expect(await runJson('service', 'install', '--root', root)).toMatchObject({
      installed: unit(),
    });
    expect(readFileSync(unit(), 'utf8')).toContain(`serve --root ${root}`);
    expect(await runJson('service', 'status')).toMatchObject({ installed: true, runs: true });
    await runJson('service', 'install', '--root', root);
    await runJson('service', 'uninstall');
    expect(existsSync(unit())).toBe(false);
    expect(existsSync(root)).toBe(true);
    expect(
      calls()
        .split('\n')
        .filter((line) => line !== ''),
    ).toEqual([
      '--user daemon-reload',
      '--user enable --now millrace.service',
      '--user is-active millrace.service',
      '--user daemon-reload',
      '--user enable --now millrace.service',
      '--user disable --now millrace.service',
      '--user daemon-reload',
    ]);
    expect((await runLine('service', 'uninstall')).code).toBe(0);
  });

  it('leaves a unit that is not ours alone, and tells when the service manager refuses', async () => {
    mkdirSync(join(folder, 'config', 'systemd', 'user'), { recursive: true });
    writeFileSync(unit(), '[Service]\nExecStart=/bin/true\n');
    for (const verb of ['install', 'uninstall']) {
      const ran = await runLine('service', verb);
      expect(ran.err).toContain('SERVICE_FOREIGN');
      expect(ran.code).toBe(1);
    }
    writeFileSync(join(folder, 'systemctl'), '#!/bin/sh\nexit 4\n');
    const failed = await runLine('service', 'install', '--name', 'other');
    expect(failed.err).toContain('SERVICE_FAILED');
    expect(failed.code).toBe(78);
    expect((await runLine('service', 'install', '--name', '../x')).code).toBe(2);
    expect((await runLine('service', 'install', '--run-as', 'x')).code).toBe(2);
  });
});
