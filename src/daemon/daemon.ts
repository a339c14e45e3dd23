import {
  assert,
  isMillraceError,
  messageOf,
  systemChance,
  systemClock,
  type Chance,
  type Clock,
  type MillraceError,
} from '#base';
import { effectiveConfig, reloadRefused, type LoadedConfig, type ReloadReport } from '#config';
import {
  diskFaultOf,
  diskUnavailable,
  nodeDisk,
  stagingNames,
  type Disk,
  type StagingNames,
} from '#disk';
import type { ChosenRoot } from '#roots';
import { daemonNoticed } from '#signals';
import { boot } from './boot/boot.ts';
import { createClosers, type Closers } from './boot/closers.ts';
import { createDaemonLog, type DaemonLog } from './watch/daemon-log.ts';
import { createSettings, type Settings } from './live-settings.ts';
import { createPhaseHolder, type PhaseHolder } from './boot/phase.ts';

export interface DaemonOptions {
  readonly loaded: LoadedConfig;
  /** Reads the sources of `loaded` again; throws CONFIG_INVALID. Without it nothing can be reloaded. */
  readonly reread?: () => LoadedConfig;
  readonly root: ChosenRoot;
  /** MILLRACE_FAILPOINTS; refused on any but a lab root (ING-021). */
  readonly failpoints: string | undefined;
  readonly version: string;
}

export interface ReadyDaemon {
  readonly url: string;
  readonly root: string;
  readonly isNewRoot: boolean;
}

/** One process, one root (ROOT-101). */
export interface Daemon {
  /** Resolves once events are accepted; undefined when it was stopped before. Rejects with what refused the start, everything closed. */
  start(): Promise<ReadyDaemon | undefined>;
  /** Stops in order, within `shutdown.grace_ms` (ING-825); a second call does nothing. */
  stop(reason: string): void;
  /** Reads the configuration again (SIGHUP); what came of it is in the log. */
  reload(): void;
  /** Lets go of a log file that was rotated away. */
  reopenLog(): void;
  /** Resolves after a stop that was asked for; rejects with what ended the daemon: TENURE_LOST, or a fatal fault. */
  readonly stopped: Promise<void>;
}

/** What the parts of a daemon share. */
export interface Ground {
  /** `options.loaded` reads the settings in force. */
  readonly options: DaemonOptions;
  readonly settings: Settings;
  readonly disk: Disk;
  readonly names: StagingNames;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly phase: PhaseHolder;
  readonly closers: Closers;
  /** The log begins once the root is ours: a refusal before is one line of the command. */
  startLog(): void;
  /** Aborted once a stop has begun: no further step of the boot is taken, and none that waits for somebody else goes on. */
  readonly stopping: AbortSignal;
  /** Ends the daemon for a fault that concerns all of it. */
  fail(error: MillraceError): void;
}

/** After the exclusion is lost nothing may be written, so there is nothing to wait for but answers in flight. */
const fencedGraceMs = 5000;

export function createDaemon(options: DaemonOptions): Daemon {
  return new ServingDaemon(options);
}

class ServingDaemon implements Daemon {
  readonly stopped: Promise<void>;
  readonly #options: DaemonOptions;
  readonly #end: PromiseWithResolvers<void>;
  readonly #ground: Ground;
  #booting: Promise<ReadyDaemon | undefined> | undefined;
  readonly #stopping = new AbortController();
  readonly #settings: Settings;
  readonly #log: DaemonLog;

  constructor(options: DaemonOptions) {
    this.#settings = createSettings({
      loaded: options.loaded,
      reread: options.reread,
      onChanged: (report) => this.#onReloaded(report),
    });
    const { loaded } = this.#settings;
    this.#options = { ...options, loaded };
    this.#log = createDaemonLog(loaded);
    this.#end = Promise.withResolvers();
    this.stopped = this.#end.promise;
    // A start that throws tells the same fault; nobody waits for the end then.
    this.stopped.catch(() => undefined);
    this.#ground = {
      options: this.#options,
      settings: this.#settings,
      disk: nodeDisk(),
      names: stagingNames(process.pid, systemChance),
      clock: systemClock,
      chance: systemChance,
      phase: createPhaseHolder(),
      closers: createClosers(),
      startLog: () => this.#startLog(),
      stopping: this.#stopping.signal,
      fail: (error) => this.#stop(error.message, error),
    };
  }

  async start(): Promise<ReadyDaemon | undefined> {
    assert(this.#booting === undefined, 'a daemon starts once');
    // Queue files, LMDB and SQLite alike are their owner's alone (ING-235).
    process.umask(0o077);
    this.#booting = boot(this.#ground);
    try {
      return await Promise.race([this.#booting, this.stopped.then(() => undefined)]);
    } catch (error) {
      const { aborted, reason } = this.#stopping.signal;
      if (aborted && error === reason) return undefined;
      if (!aborted) await this.#close(this.#graceMs, 'the start was refused');
      throw asStartFailure(error);
    }
  }

  stop(reason: string): void {
    this.#stop(reason, undefined);
  }

  reload(): void {
    try {
      this.#settings.reload();
    } catch (error) {
      daemonNoticed.publish(() => ({ code: reloadRefused.code, message: messageOf(error) }));
    }
  }

  reopenLog(): void {
    this.#log.reopen();
  }

  get #graceMs(): number {
    return this.#options.loaded.config['shutdown.grace_ms'];
  }

  #onReloaded({ applied, needsRestart }: ReloadReport): void {
    this.#log.restart();
    const texts = [
      ...applied.map(({ key, to, origin }) => `${key}=${String(to)} (${origin})`),
      ...needsRestart.map(({ key, origin }) => `${key} (${origin}) needs a restart`),
    ];
    const message = texts.length === 0 ? 'no setting has changed' : texts.join(', ');
    daemonNoticed.publish(() => ({ code: 'CONFIG_RELOADED', message }));
  }

  #stop(reason: string, error: MillraceError | undefined): void {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    const isFenced = error?.disposition === 'fenced';
    this.#ground.phase.enter(isFenced ? 'fenced' : 'draining', reason);
    void this.#finish(isFenced ? Math.min(fencedGraceMs, this.#graceMs) : this.#graceMs, error);
  }

  async #finish(graceMs: number, error: MillraceError | undefined): Promise<void> {
    const { clock } = this.#ground;
    const deadlineMs = clock.monotonic() + graceMs;
    await this.#bootingEnds(graceMs);
    const leftMs = deadlineMs - clock.monotonic();
    await this.#close(leftMs, error === undefined ? 'stopped in order' : error.message);
    if (error === undefined) this.#end.resolve();
    else this.#end.reject(error);
  }

  /** A step of the boot that is under way ends first: what it opens is closed with the rest. One that does not end in time is left behind (P10). */
  async #bootingEnds(graceMs: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = this.#ground.clock.after(graceMs, late.resolve);
    await Promise.race([this.#booting, late.promise]).catch(() => undefined);
    timer.cancel();
  }

  async #close(graceMs: number, detail: string): Promise<void> {
    const { clock, closers, phase } = this.#ground;
    const failures = await closers.closeAll(clock, clock.monotonic() + graceMs);
    // A fenced daemon may not write, so its queue can't close in order; that is no news.
    for (const { name, error } of phase.phase === 'fenced' ? [] : failures)
      daemonNoticed.publish(() => ({
        code: 'CLOSE_FAILED',
        message: `${name}: ${messageOf(error)}; the next start recovers what is left`,
      }));
    phase.enter('stopped', detail);
    this.#log.end();
  }

  #startLog(): void {
    const { loaded } = this.#options;
    this.#log.start();
    const changed = effectiveConfig(loaded).filter(({ origin }) => origin !== 'default');
    this.#ground.phase.enter('starting', describeSettings(changed));
  }
}

/** What a request would be told ("send it again") says nothing to who starts a daemon on a full disk. */
function asStartFailure(error: unknown): unknown {
  const disk = diskFaultOf(error);
  if (disk === undefined || (isMillraceError(error) && error.disposition !== 'retry')) return error;
  const what = `${disk.what}: ${messageOf(rootCauseOf(error))}`;
  return diskUnavailable({ doing: 'a start', what, cure: disk.cure }, error);
}

function rootCauseOf(error: unknown): unknown {
  let cause = error;
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause;
  return cause;
}

function describeSettings(changed: ReturnType<typeof effectiveConfig>): string {
  const texts = changed.map(({ key, value, origin }) => `${key}=${String(value)} (${origin})`);
  return texts.length === 0 ? 'all settings have their defaults' : texts.join(', ');
}
