import { assert, messageOf, systemChance, systemClock, type MillraceError } from '#base';
import { nodeDisk, stagingNames } from '#disk';
import type { BoundRoot } from '#roots';
import { daemonNoticed, startLog } from '#signals';
import type { Stores } from '../assemble.ts';
import {
  bind,
  isUnsure,
  openTokens,
  openWithTenure,
  withOpenFiles,
  type Progress,
} from '../boot/boot.ts';
import { createClosers } from '../boot/closers.ts';
import type { DaemonOptions, Ground } from '../daemon.ts';
import { fixedSettings } from '../live-settings.ts';
import { openVouched } from '../boot/open-vouched.ts';
import { createPhaseHolder } from '../boot/phase.ts';
import { startWork, type StartedWork } from '../boot/start-work.ts';

/** A root that is held without listening: all that a daemon has but the doors. */
export interface OfflineRoot {
  readonly ground: Ground;
  readonly root: BoundRoot;
  readonly stores: Stores;
  readonly work: StartedWork;
  /** Ends the drain at batch borders; a second call does nothing. */
  stopDrain(): Promise<void>;
}

const stopDrainMs = 60_000;

export interface OfflineOptions extends DaemonOptions {
  /** The queue is drained meanwhile, as by a daemon. */
  readonly isDrained: boolean;
}

/**
 * Takes root lock and tenure as a daemon does, recovers, drains where it is asked for while `use` works, and closes in order (ING-311). ROOT_LOCKED while a daemon
 * serves the root. What goes wrong on the way is logged as it would be there.
 */
export async function workOffline<T>(
  options: OfflineOptions,
  use: (offline: OfflineRoot) => Promise<T>,
): Promise<T> {
  // Queue files, LMDB and SQLite alike are their owner's alone (ING-235).
  process.umask(0o077);
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  let endLog = (): void => undefined;
  const ground: Ground = {
    options,
    settings: fixedSettings(options.loaded),
    disk: nodeDisk(),
    names: stagingNames(process.pid, systemChance),
    clock: systemClock,
    chance: systemChance,
    phase: createPhaseHolder(),
    closers: createClosers(),
    startLog: () => {
      endLog = startLog({ level: 'warn' });
    },
    stopping: new AbortController().signal,
    fail: (error: MillraceError) => failure.reject(error),
  };
  const { closers, clock } = ground;
  try {
    const offline = await open(ground, options.isDrained);
    return await Promise.race([use(offline), failure.promise]);
  } finally {
    const graceMs = options.loaded.config['shutdown.grace_ms'];
    const failures = await closers.closeAll(clock, clock.monotonic() + graceMs);
    // All that was answered is in the journal: the next start carries it on.
    for (const { name, error } of failures)
      daemonNoticed.publish(() => ({
        code: 'CLOSE_FAILED',
        message: `${name}: ${messageOf(error)}; the next start recovers what is left`,
      }));
    endLog();
  }
}

async function open(given: Ground, isDrained: boolean): Promise<OfflineRoot> {
  const ground = await withOpenFiles(given);
  const { clock, closers } = ground;
  const progress: Progress = {
    permit: undefined,
    context: undefined,
    degraded: () => [],
    expiring: () => 0,
    isLost: false,
  };
  const root = await bind(ground);
  const { control, vouch } = await openVouched(ground, root);
  const stores = await openWithTenure(ground, progress, root, { control, vouch });
  vouch.hasAgreed = () => (isUnsure(progress, stores) ? undefined : vouch.isAgreed);
  const { permit } = progress;
  assert(permit !== undefined, 'the tenure is taken before work begins');
  const tokens = await openTokens(ground, root);
  const { degraded } = progress;
  const work = startWork(ground, { root, permit, control, stores, tokens, degraded });
  // A restored root is drained only after its graph was adopted, which is for its first start to do (ING-542).
  if (isDrained && stores.bond.restoredFrom === null) work.drain.start();
  let stopping: Promise<unknown> | undefined;
  const stopDrain = async (): Promise<void> => {
    stopping ??= work.drain.stop(clock.monotonic() + stopDrainMs);
    await stopping;
  };
  closers.add('drain', stopDrain);
  closers.add('ingest', () => work.ingest.stop());
  return { ground, root, stores, work, stopDrain };
}
