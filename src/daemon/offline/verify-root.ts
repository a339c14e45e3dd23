import { isMillraceError, messageOf, type Clock } from '#base';
import { platformCode, type Disk } from '#disk';
import {
  isProcessAlive,
  layoutOf,
  parseMarker,
  readDaemonFile,
  type ChosenRoot,
  type DaemonFile,
} from '#roots';
import {
  verifyQueueFolder,
  type VerifiedKey,
  type VerifyFinding,
  type VerifySummary,
} from '../assemble.ts';
import { verifyImpossible } from '../errors.ts';
import { openGraphAtRest } from './graph-at-rest.ts';

export interface VerifyRootOptions {
  readonly root: ChosenRoot;
  readonly disk: Disk;
  readonly clock: Clock;
  /** Told first when a daemon seems to run: what it is in the middle of is no finding. */
  readonly onLive: (daemon: DaemonFile) => void;
  readonly onKey: (key: VerifiedKey) => Promise<void> | void;
  readonly onFinding: (finding: VerifyFinding) => void;
  readonly onProgress: (seen: { readonly keys: number; readonly records: number }) => void;
}

export interface RootVerified extends VerifySummary {
  readonly root: string;
  readonly rootId: string;
  readonly isLive: boolean;
}

/**
 * Reads a root and changes nothing, no lock included: a daemon may run, start or stop meanwhile (ING-921). VERIFY_IMPOSSIBLE where the root
 * itself, its marker or the form of its queue cannot be read.
 */
export async function verifyRoot(options: VerifyRootOptions): Promise<RootVerified> {
  const { path } = options.root;
  try {
    return await verify(options);
  } catch (error) {
    if (verifyImpossible.is(error)) throw error;
    const isOurs = isMillraceError(error) && error.disposition === 'fatal';
    if (!isOurs && platformCode(error) === undefined) throw error;
    throw verifyImpossible({ root: path, reason: messageOf(error) }, error);
  }
}

async function verify(options: VerifyRootOptions): Promise<RootVerified> {
  const { disk, clock, root } = options;
  const layout = layoutOf(root.path);
  const bytes = await disk.readFile(layout.marker);
  if (bytes === undefined)
    throw verifyImpossible({ root: root.path, reason: 'it has no marker root.json' });
  const marker = parseMarker(root.path, bytes);
  const daemon = await readDaemonFile(disk, layout.daemonFile);
  const isLive = daemon !== undefined && isProcessAlive(daemon.pid);
  if (isLive) options.onLive(daemon);
  const { onKey, onFinding, onProgress } = options;
  const rootId = marker.storageRootId;
  const directory = layout.queue;
  // A daemon that serves it compares by itself, and its graph moves.
  const graph = isLive ? undefined : await openGraphAtRest({ disk, layout, rootId, onFinding });
  try {
    const summary = await verifyQueueFolder({
      disk,
      clock,
      directory,
      rootId,
      isLive,
      onKey,
      onFinding,
      onProgress,
      askGraph: graph?.ask,
    });
    return { root: root.path, rootId, isLive, ...summary };
  } finally {
    graph?.close();
  }
}
