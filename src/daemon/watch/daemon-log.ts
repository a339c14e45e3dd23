import type { LoadedConfig } from '#config';
import { daemonNoticed, openLogFile, startLog, tenureTaken, type LogFile } from '#signals';

/** The log of a daemon: to standard error, or to `log.file`. */
export interface DaemonLog {
  /** CONFIG_INVALID when the file cannot be written. */
  start(): void;
  /** Takes over a changed level. */
  restart(): void;
  /** Opens a file that was rotated away anew; standard error is not ours to open. */
  reopen(): void;
  end(): void;
}

/** Reads `log.level` at each start of the log, so `loaded` may be live. */
export function createDaemonLog({ config, origins }: LoadedConfig): DaemonLog {
  let file: LogFile | undefined;
  let end: (() => void) | undefined;
  let generation: number | undefined;
  const endTenure = tenureTaken.subscribe((taken) => {
    generation = taken.generation;
  });
  const begin = (): void => {
    const level = config['log.level'];
    const options = { level, generation: () => generation };
    end = startLog(file === undefined ? options : { ...options, stream: file.stream });
  };
  return {
    start() {
      const path = config['log.file'];
      if (path !== null) file = openLogFile(path, origins['log.file']);
      begin();
    },
    restart() {
      if (end === undefined) return;
      end();
      begin();
    },
    reopen() {
      const problem = file?.reopen();
      if (problem === undefined) return;
      const message = `log.file could not be opened anew (${problem}): lines still go to the file that was open`;
      daemonNoticed.publish(() => ({ code: 'LOG_NOT_REOPENED', message }));
    },
    end() {
      endTenure();
      end?.();
      end = undefined;
      file?.close();
      file = undefined;
    },
  };
}
