import { readFileSync } from 'node:fs';
import { platformCode } from '#disk';
import type { Environment } from '#config';
import { layoutOf, parseMarker, resolveRoot, rootMissing } from '#roots';
import { createClient, type Client } from './client.ts';
import type { SharedOptions } from './command.ts';
import { daemonUnreachable, usage } from './errors.ts';
import { findDaemon, type FoundDaemon, type RootHint } from './find-daemon.ts';

/** A client of the daemon that options and environment name; where they name a root, of the one that serves it and of no other (B160). */
export function clientOf(options: SharedOptions, environment: Environment): Client {
  const found = findDaemon({
    url: options.url,
    port: options.port === undefined ? undefined : portOf(options.port),
    root: hintOf(options.root, undefined),
    environmentUrl: environment.url,
    environmentRoot: hintOf(undefined, environment.root),
  });
  const { url, root } = found;
  if (url === undefined)
    throw daemonUnreachable({
      url: '',
      root: root?.path ?? '',
      reason: 'no daemon.json in it tells an address',
    });
  if (!URL.canParse(url)) throw usage({ problem: `"${url}" is no URL` });
  const named = root === undefined ? undefined : servedRoot(root, found, options);
  return createClient({ url, token: options.token ?? environment.token, root: named });
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw usage({ problem: `--port ${text} is no port` });
  return port;
}

/** Only a root that was named is looked into: the default root's daemon may well be another one (D29). */
function hintOf(flag: string | undefined, environment: string | undefined): RootHint | undefined {
  if (flag === undefined && environment === undefined) return undefined;
  const { path } = resolveRoot({ flag, environment, platformDefault: '' });
  return { path, runtimeFile: readIfThere(layoutOf(path).daemonFile)?.toString('utf8') };
}

/** Which root the daemon must serve. Undefined where MILLRACE_ROOT names a folder of another machine beside MILLRACE_URL. */
function servedRoot(
  { path }: RootHint,
  { isByRoot }: FoundDaemon,
  options: SharedOptions,
): { readonly path: string; readonly id: string } | undefined {
  const marker = readIfThere(layoutOf(path).marker);
  if (marker !== undefined) return { path, id: parseMarker(path, marker).storageRootId };
  if (!isByRoot && options.root === undefined) return undefined;
  throw rootMissing({
    root: path,
    source: options.root === undefined ? 'MILLRACE_ROOT' : '--root',
  });
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (platformCode(error) !== undefined) return undefined;
    throw error;
  }
}
