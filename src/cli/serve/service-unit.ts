import { posix } from 'node:path';

/** Who starts the daemon: a person's own service manager, or that of the machine. */
export type ServiceScope = 'user' | 'system';
export type ServiceManager = 'systemd' | 'launchd';

export interface ServiceOrder {
  readonly manager: ServiceManager;
  readonly scope: ServiceScope;
  /** Letters, digits, `-` and `_`. */
  readonly name: string;
  /** Absolute paths. */
  readonly node: string;
  readonly program: string;
  readonly root: string;
  readonly config: string | undefined;
  /** `shutdown.grace_ms` of the settings that the service will use. */
  readonly graceMs: number;
  /** System services: whose daemon it is. */
  readonly runAs: string | undefined;
  /** Home of the person, and their folder of settings. */
  readonly home: string;
  readonly configHome: string;
}

/** A file to be written, and what makes the service manager take it up. */
export interface ServicePlan {
  readonly path: string;
  readonly text: string;
  readonly install: readonly (readonly string[])[];
  readonly uninstall: readonly (readonly string[])[];
  /** After the file has gone. */
  readonly afterwards: readonly (readonly string[])[];
  /** Ends with 0 while the service runs. */
  readonly status: readonly string[];
}

/** The first line of each file that is ours: any other is left alone. */
export const serviceMark = 'made by "millrace service install"';

/** What a stop may take beyond the grace: the last closes, and the way of the signal. */
const marginMs = 20_000;

/** Seconds that the service manager must wait before it kills: never less than the daemon's own grace (ING-825). */
export function stopSecondsOf(graceMs: number): number {
  return Math.ceil((graceMs + marginMs) / 1000);
}

/** Pure: nothing is looked at and nothing is written. */
export function planService(order: ServiceOrder): ServicePlan {
  return order.manager === 'systemd' ? systemdPlan(order) : launchdPlan(order);
}

function serveWords({ node, program, root, config }: ServiceOrder): readonly string[] {
  const words = [node, program, 'serve', '--root', root];
  return config === undefined ? words : [...words, '--config', config];
}

function systemdPlan(order: ServiceOrder): ServicePlan {
  const { scope, name, configHome } = order;
  const folder =
    scope === 'user' ? posix.join(configHome, 'systemd', 'user') : '/etc/systemd/system';
  const systemctl = scope === 'user' ? ['systemctl', '--user'] : ['systemctl'];
  const unit = `${name}.service`;
  return {
    path: posix.join(folder, unit),
    text: unitText(order),
    install: [
      [...systemctl, 'daemon-reload'],
      [...systemctl, 'enable', '--now', unit],
    ],
    uninstall: [[...systemctl, 'disable', '--now', unit]],
    afterwards: [[...systemctl, 'daemon-reload']],
    status: [...systemctl, 'is-active', unit],
  };
}

function unitText(order: ServiceOrder): string {
  const { scope, root, runAs, graceMs } = order;
  const isSystem = scope === 'system';
  return [
    `# ${serviceMark}; a new install writes it anew`,
    '[Unit]',
    'Description=millrace, a durable ingest daemon',
    ...(isSystem ? ['After=network.target local-fs.target'] : []),
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=${serveWords(order).map(systemdWord).join(' ')}`,
    'ExecReload=/bin/kill -HUP $MAINPID',
    'Restart=on-failure',
    'RestartSec=2',
    // A wrong command line, permissions and settings are not mended by another start.
    'RestartPreventExitStatus=2 77 78',
    'KillMode=mixed',
    `TimeoutStopSec=${stopSecondsOf(graceMs)}`,
    'TimeoutStartSec=infinity',
    'LimitNOFILE=65536',
    'UMask=0077',
    'NoNewPrivileges=yes',
    ...(isSystem
      ? [
          ...(runAs === undefined ? [] : [`User=${runAs}`]),
          'PrivateTmp=yes',
          'ProtectSystem=full',
          `ReadWritePaths=-${systemdWord(root)}`,
        ]
      : []),
    '',
    '[Install]',
    `WantedBy=${isSystem ? 'multi-user.target' : 'default.target'}`,
    '',
  ].join('\n');
}

/** `%` and `$` mean something to systemd; a word with anything unusual stands in quotes. */
function systemdWord(word: string): string {
  const text = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(text)
    ? text
    : `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function launchdPlan(order: ServiceOrder): ServicePlan {
  const { scope, home, name } = order;
  const label = `dev.millrace.${name}`;
  const folder =
    scope === 'user' ? posix.join(home, 'Library', 'LaunchAgents') : '/Library/LaunchDaemons';
  const path = posix.join(folder, `${label}.plist`);
  return {
    path,
    text: plistText(order, label),
    install: [['launchctl', 'load', '-w', path]],
    uninstall: [['launchctl', 'unload', '-w', path]],
    afterwards: [],
    status: ['launchctl', 'list', label],
  };
}

function plistText(order: ServiceOrder, label: string): string {
  const { root, runAs, scope, graceMs } = order;
  const log = `${root}.log`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<!-- ${serviceMark}; a new install writes it anew -->`,
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    '<dict>',
    `  <key>Label</key><string>${xml(label)}</string>`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...serveWords(order).map((word) => `    <string>${xml(word)}</string>`),
    '  </array>',
    ...(scope === 'system' && runAs !== undefined
      ? [`  <key>UserName</key><string>${xml(runAs)}</string>`]
      : []),
    '  <key>RunAtLoad</key><true/>',
    '  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>',
    `  <key>ExitTimeOut</key><integer>${stopSecondsOf(graceMs)}</integer>`,
    '  <key>SoftResourceLimits</key><dict><key>NumberOfFiles</key><integer>65536</integer></dict>',
    '  <key>Umask</key><integer>63</integer>',
    `  <key>StandardErrorPath</key><string>${xml(log)}</string>`,
    '</dict>',
    '</plist>',
    '',
  ].join('\n');
}

function xml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
