/** What a caller may say about where the daemon is (D29), in the order in which it counts. */
export interface DaemonHints {
  readonly url?: string | undefined;
  readonly environmentUrl?: string | undefined;
  readonly port?: number | undefined;
  /** Content of `daemon.json` of the root that was named, if there is one. */
  readonly runtimeFile?: string | undefined;
}

export const defaultPort = 7117;

/** `--url`, else MILLRACE_URL, else `--port` on 127.0.0.1, else `daemon.json` of the named root, else port 7117 (D29). Pure. */
export function findDaemonUrl(hints: DaemonHints): string {
  if (hints.url !== undefined) return hints.url;
  if (hints.environmentUrl !== undefined && hints.environmentUrl !== '')
    return hints.environmentUrl;
  if (hints.port !== undefined) return `http://127.0.0.1:${hints.port}`;
  const written = urlOfRuntimeFile(hints.runtimeFile);
  return written ?? `http://127.0.0.1:${defaultPort}`;
}

function urlOfRuntimeFile(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const { url } = JSON.parse(text) as { url?: unknown };
    return typeof url === 'string' ? url : undefined;
  } catch {
    // A file that a crash left half written names nobody; the default port is the next guess.
    return undefined;
  }
}
