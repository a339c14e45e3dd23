import { backupRunning, createBackup, type BackupProgress, type Manifest } from '#backup';
import type { SessionRemoval } from '#keeping';
import { draining } from '#queue';
import { backupSources, type SourceNeeds } from './backup-sources.ts';
import { confineBackupPath, type BackupPathRules } from './backup-path.ts';
import type { Ground } from '../daemon.ts';

/** Makes backups of the root that is served, one at a time. */
export interface Backups {
  create(order: {
    readonly path: string;
    readonly signal: AbortSignal;
    tell(progress: BackupProgress): void;
  }): Promise<{ readonly manifest: Manifest; readonly path: string }>;
  readonly isRunning: boolean;
  /** Ends the one that runs, and leaves nothing of it. */
  stop(): Promise<void>;
}

export function createBackups(
  { disk, names, clock, chance, options }: Ground,
  needs: SourceNeeds,
  rules: BackupPathRules,
  removal: () => Pick<SessionRemoval, 'isBusy' | 'settled'> | undefined,
): Backups {
  const stopping = new AbortController();
  let running: Promise<unknown> | undefined;
  return {
    get isRunning() {
      return running !== undefined;
    },
    async create({ path: given, signal, tell }) {
      const path = await confineBackupPath(given, rules);
      // A deletion takes from one store after another: it is in a backup whole or not at all.
      while (removal()?.isBusy === true) await removal()?.settled();
      if (running !== undefined) throw backupRunning({});
      const run = createBackup({
        path,
        sources: backupSources(needs),
        disk,
        names,
        clock,
        chance,
        product: options.version,
        signal: AbortSignal.any([signal, stopping.signal]),
        tell,
      });
      running = run;
      try {
        return { manifest: await run, path };
      } finally {
        running = undefined;
      }
    },
    async stop() {
      stopping.abort(draining({ what: 'the daemon' }));
      await running?.catch(() => undefined);
    },
  };
}
