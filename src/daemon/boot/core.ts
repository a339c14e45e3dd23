import { openTokenStore } from '#access';
import type { MillraceError } from '#base';
import type { ControlDatabase } from '#control';
import { nodeDisk, openFilesMax, stagingNames } from '#disk';
import { systemChance, systemClock } from '#base';
import type { FencePermit } from '#fence';
import { bindRoot, type BoundRoot } from '#roots';
import { openVouched } from './open-vouched.ts';
import { openStores, type Stores } from '../assemble.ts';
import { createClosers } from './closers.ts';
import type { DaemonOptions, Ground } from '../daemon.ts';
import { fixedSettings } from '../live-settings.ts';
import { createPhaseHolder } from './phase.ts';
import { planOpenFiles } from '../settings.ts';
import { startWork, type StartedWork } from './start-work.ts';
import { takeOver } from './take-over.ts';

/** A daemon without doors: its stores are open and recovered, nothing is drained until it is told to. */
export interface Core {
  readonly ground: Ground;
  readonly root: BoundRoot;
  readonly permit: FencePermit;
  readonly control: ControlDatabase;
  readonly stores: Stores;
  readonly work: StartedWork;
}

const closeMsMax = 60_000;

/** Opens a root as a start does, under its lock, for one act of an operator, and closes it in order. Rejects as a start, or as `use` does. */
export async function withCore<T>(
  options: DaemonOptions,
  use: (core: Core) => Promise<T>,
): Promise<T> {
  process.umask(0o077);
  const [disk, clock, chance] = [nodeDisk(), systemClock, systemChance];
  const names = stagingNames(process.pid, chance);
  const closers = createClosers();
  const faults: MillraceError[] = [];
  const ground: Ground = {
    options,
    settings: fixedSettings(options.loaded),
    disk,
    names,
    clock,
    chance,
    phase: createPhaseHolder(),
    closers,
    startLog: () => undefined,
    stopping: new AbortController().signal,
    fail: (error) => faults.push(error),
  };
  try {
    const result = await use(await open(ground));
    const [fault] = faults;
    if (fault !== undefined) throw fault;
    return result;
  } finally {
    await closers.closeAll(clock, clock.monotonic() + closeMsMax);
  }
}

async function open(ground: Ground): Promise<Core> {
  const { options, disk, clock, chance, names, closers } = ground;
  const { config } = options.loaded;
  const keyEncoding = config['queue.key_encoding'];
  const root = await bindRoot(options.root, { disk, clock, chance, names, keyEncoding });
  closers.add('root lock', () => root.lock.release());
  const { control, vouch } = await openVouched(ground, root);
  const { storageRootId } = root.marker;
  const { logHandlesMax } = planOpenFiles(await openFilesMax(disk), config['http.max_connections']);
  const order = { storageRootId, holder: 'core', chance };
  const means = { config, root, disk, names, clock, chance, stopping: ground.stopping };
  const taken = await takeOver(control, order, clock, ({ permit }, opened) =>
    openStores({ ...means, permit, logHandlesMax, left: vouch.verdicts }, opened),
  );
  const { tenure, stores } = taken;
  vouch.hasAgreed = () => (stores.isDamaged() ? undefined : vouch.isAgreed);
  const { permit } = tenure;
  closers.add('tenure', () => void tenure.release());
  taken.closers.moveTo(closers);
  const path = config['auth.tokens_file'] ?? root.layout.tokens;
  const tokens = await openTokenStore({ disk, path, names, clock, chance });
  const needs = { root, permit, control, stores, tokens, degraded: () => [] };
  const work = startWork(ground, needs);
  closers.add('drain', async (deadlineMs) => {
    await work.drain.stop(deadlineMs);
  });
  return { ground, root, permit, control, stores, work };
}
