/** What a caller may say about where the daemon is (D29, B160), in the order in which it counts. */
export interface DaemonHints {
  readonly url?: string | undefined;
  readonly port?: number | undefined;
  /** `--root` */
  readonly root?: RootHint | undefined;
  /** MILLRACE_URL */
  readonly environmentUrl?: string | undefined;
  /** MILLRACE_ROOT */
  readonly environmentRoot?: RootHint | undefined;
}

/** A root that was named. */
export interface RootHint {
  readonly path: string;
  /** Content of its `daemon.json`, if there is one. */
  readonly runtimeFile?: string | undefined;
}

export interface FoundDaemon {
  /** Undefined: only a root was named, and no daemon has left its address in it. */
  readonly url: string | undefined;
  /** The root that must be served there, or nothing is done. */
  readonly root?: RootHint;
  /** The address is that of `daemon.json`, or there is none: not a root beside an address. */
  readonly isByRoot: boolean;
}

export const defaultPort = 7117;

/**
 * What the command line says counts before what the environment says: `--url`, `--port`, `--root`, MILLRACE_URL, MILLRACE_ROOT; with none of them it
 * is port 7117 (B160). A root that was named is never looked for at an address that does not come from it. Pure.
 */
export function findDaemon(hints: DaemonHints): FoundDaemon {
  const { root, environmentRoot } = hints;
  const environmentUrl = hints.environmentUrl === '' ? undefined : hints.environmentUrl;
  const given =
    hints.url ?? (hints.port === undefined ? undefined : `http://127.0.0.1:${hints.port}`);
  if (given !== undefined) return at(given, root);
  if (root !== undefined) return by(root);
  if (environmentUrl !== undefined) return at(environmentUrl, environmentRoot);
  if (environmentRoot !== undefined) return by(environmentRoot);
  return at(`http://127.0.0.1:${defaultPort}`, undefined);
}

function at(url: string, root: RootHint | undefined): FoundDaemon {
  return { url, isByRoot: false, ...(root === undefined ? {} : { root }) };
}

function by(root: RootHint): FoundDaemon {
  return { url: urlOfRuntimeFile(root.runtimeFile), root, isByRoot: true };
}

function urlOfRuntimeFile(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const { url } = JSON.parse(text) as { url?: unknown };
    return typeof url === 'string' ? url : undefined;
  } catch {
    // A file that a crash left half written names nobody.
    return undefined;
  }
}
