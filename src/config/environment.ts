import { homedir } from 'node:os';
import { join } from 'node:path';

/** What the environment says besides settings: none of these is a config key (ING-931). */
export interface Environment {
  /** MILLRACE_ROOT; an empty text counts as set (ROOT-23). */
  readonly root: string | undefined;
  /** MILLRACE_URL: where the daemon answers, for verbs (D29). */
  readonly url: string | undefined;
  /** MILLRACE_TOKEN: what verbs show the daemon. A secret. */
  readonly token: string | undefined;
  /** MILLRACE_FAILPOINTS: honoured on lab roots alone (ING-021). */
  readonly failpoints: string | undefined;
  /** The person's home folder, and that of their settings (XDG). */
  readonly home: string;
  readonly configHome: string;
  /** The config file when none is named. */
  readonly configFile: string;
  /** The root when none is named (storage-roots.md §4.2). */
  readonly defaultRoot: string;
  /** All MILLRACE_… variables that may be settings, by name. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Names that later versions or other programs of the product read: taken for no setting. */
const reserved: ReadonlySet<string> = new Set([
  'MILLRACE_ROOT',
  'MILLRACE_URL',
  'MILLRACE_TOKEN',
  'MILLRACE_FAILPOINTS',
  'MILLRACE_FENCE_GENERATION',
  'MILLRACE_ROOT_EXPECT_ID',
  'MILLRACE_INBOX_DIR',
  'MILLRACE_LOG_FILE',
]);

type Variables = Readonly<Record<string, string | undefined>>;

/** The one place that reads `process.env`. */
export function readEnvironment(variables: Variables = process.env): Environment {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(variables)) {
    if (name.startsWith('MILLRACE_') && !reserved.has(name) && value !== undefined)
      settings[name] = value;
  }
  const home = variables['HOME'] || homedir();
  const configHome = variables['XDG_CONFIG_HOME'] || join(home, '.config');
  const dataHome = variables['XDG_DATA_HOME'] || join(home, '.local', 'share');
  return {
    root: variables['MILLRACE_ROOT'],
    url: variables['MILLRACE_URL'],
    token: variables['MILLRACE_TOKEN'],
    failpoints: variables['MILLRACE_FAILPOINTS'],
    home,
    configHome,
    configFile: join(configHome, 'millrace', 'millrace.yaml'),
    defaultRoot: join(dataHome, 'millrace', 'store'),
    settings,
  };
}

/** The environment for a child of ours: the same, with some variables set. */
export function childEnvironment(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...more };
}

/** What this process was told of Node itself, on the command line or by NODE_OPTIONS. */
export function nodeOptions(): readonly string[] {
  return [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''];
}
