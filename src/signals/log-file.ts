import { destination, type DestinationStream } from 'pino';
import { messageOf } from '#base';
import { configInvalid } from '#config';

/** A file that log lines are appended to. */
export interface LogFile {
  readonly stream: DestinationStream;
  /** Opens the path anew, so that a rotated file is let go; returns what prevented it, and goes on with the file that is open. */
  reopen(): string | undefined;
  close(): void;
}

/** Only its owner reads a log: it names sessions and paths. */
const mode = 0o600;

/** Opens or makes the file, appending. CONFIG_INVALID when it cannot be written: a daemon without a log is not started. */
export function openLogFile(path: string, origin: string): LogFile {
  let file: ReturnType<typeof open>;
  try {
    file = open(path);
  } catch (error) {
    const problem = `cannot be written: ${messageOf(error)}`;
    throw configInvalid({ problems: [{ key: 'log.file', origin, problem }] }, error);
  }
  return {
    stream: { write: (line) => void file.write(line) },
    reopen() {
      try {
        // A stream of its own each time: one that could not be opened leaves nothing behind in the one that is.
        const next = open(path);
        file.end();
        file = next;
        return undefined;
      } catch (error) {
        return messageOf(error);
      }
    },
    close: () => file.end(),
  };
}

function open(path: string): ReturnType<typeof destination> {
  const file = destination({ dest: path, sync: true, append: true, mkdir: false, mode });
  // A full disk must not end the daemon: lines are dropped until there is room, and the status tells of the disk.
  file.on('error', () => undefined);
  return file;
}
