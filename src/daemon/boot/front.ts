import type { MillraceError } from '#base';
import type { Ingest } from '#ingest';
import type { OpsContext } from '#ops';
import { draining } from '#queue';
import { recovering } from '../errors.ts';

/** What stands behind the doors once the stores are open. */
export interface Work {
  readonly ingest: Ingest;
  readonly context: OpsContext;
}

/** Stands at the doors from the first moment on, so that they can be open while the stores are not. */
export interface Front {
  readonly ingest: Ingest;
  readonly context: OpsContext;
  /** From now on requests reach the work. */
  open(work: Work): void;
  /** From now on they are told that the daemon stops. */
  shut(): void;
}

export function createFront(): Front {
  let work: Work | undefined;
  let refusal: MillraceError = recovering({});
  const behind = (): Work => {
    if (work === undefined) throw refusal;
    return work;
  };
  return {
    ingest: lateIngest(
      () => behind().ingest,
      () => work?.ingest,
    ),
    context: lateContext(() => behind().context),
    open(opened) {
      work = opened;
    },
    shut() {
      work = undefined;
      refusal = draining({ what: 'the daemon' });
    },
  };
}

function lateIngest(behind: () => Ingest, current: () => Ingest | undefined): Ingest {
  return {
    accept: (request) => behind().accept(request),
    checkSize: (wireBytes) => behind().checkSize(wireBytes),
    reserve: (bytes) => behind().reserve(bytes),
    // A request in flight gives back what it holds, whatever has become of the daemon since.
    release: (bytes) => current()?.release(bytes),
    stop: () => behind().stop(),
  };
}

function lateContext(behind: () => OpsContext): OpsContext {
  return {
    get queue() {
      return behind().queue;
    },
    get ledger() {
      return behind().ledger;
    },
    get compaction() {
      return behind().compaction;
    },
    get graph() {
      return behind().graph;
    },
    get objects() {
      return behind().objects;
    },
    get drain() {
      return behind().drain;
    },
    get deadLetters() {
      return behind().deadLetters;
    },
    get feed() {
      return behind().feed;
    },
    get jobs() {
      return behind().jobs;
    },
    get tokens() {
      return behind().tokens;
    },
    get operations() {
      return behind().operations;
    },
    get removal() {
      return behind().removal;
    },
    get retention() {
      return behind().retention;
    },
    get repair() {
      return behind().repair;
    },
    get clock() {
      return behind().clock;
    },
    get startedMs() {
      return behind().startedMs;
    },
    get versions() {
      return behind().versions;
    },
    get settings() {
      return behind().settings;
    },
    get limits() {
      return behind().limits;
    },
    journalLagBytes: () => behind().journalLagBytes(),
    adopt: (order) => behind().adopt(order),
    backup: (order) => behind().backup(order),
    state: () => behind().state(),
    degraded: () => behind().degraded(),
    disk: () => behind().disk(),
    storage: () => behind().storage(),
    vacuum: () => behind().vacuum(),
  };
}
