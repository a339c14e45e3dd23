import { getSystemErrorName } from 'node:util';
import { isMillraceError, messageOf } from '#base';
import { platformCode } from './platform-error.ts';

/** What a failed call of the platform means, in words for whoever runs the machine. */
export interface DiskFaultWords {
  /** Such as ENOSPC. */
  readonly code: string;
  /** What is wrong, without a path: "the file system is full". */
  readonly what: string;
  /** What to do about it. */
  readonly cure: string;
}

/** Faults of the machine, and of no record and no request: each may pass, and what failed is tried again (QFS-31). */
const words: Readonly<Record<string, readonly [what: string, cure: string]>> = {
  ENOSPC: ['the file system is full', 'free space on it'],
  EDQUOT: ['the disk quota of this user is used up', 'raise the quota or free space'],
  EFBIG: ['a limit of file size is reached', 'raise the limit (ulimit -f, LimitFSIZE)'],
  EIO: ['the device fails', 'look at the kernel log, and move the root if it goes on'],
  EROFS: [
    'the file system is mounted read-only',
    'look at the kernel log for why, then mount it for writing again',
  ],
  EMFILE: [
    'this process has no file descriptor left',
    'raise its limit of open files (ulimit -n, LimitNOFILE)',
  ],
  ENFILE: ['the machine has no file descriptor left', 'raise fs.file-max'],
  ENOMEM: ['the machine has no memory left', 'free memory'],
  EACCES: ['access is denied', 'give the folder back to the user of the daemon'],
  EPERM: ['access is denied', 'give the folder back to the user of the daemon'],
  ENODEV: ['the device is gone', 'bring it back'],
  ENXIO: ['the device is gone', 'bring it back'],
  ESTALE: ['the file system has gone away', 'mount it again'],
  ETIMEDOUT: ['the device does not answer', 'look at it and at the kernel log'],
  EBUSY: ['the device is busy', 'end what holds it'],
};

/** The platform's code behind an error or one of its causes, if it is a fault of the machine; undefined for all else. */
export function diskFaultOf(error: unknown): DiskFaultWords | undefined {
  let cause: unknown = error;
  for (let depth = 0; depth < depthMax && cause instanceof Error; depth += 1) {
    const code = platformCode(cause) ?? numberedCode(cause);
    const found = code === undefined ? undefined : words[code];
    if (code !== undefined && found !== undefined) return { code, what: found[0], cure: found[1] };
    cause = cause.cause;
  }
  return undefined;
}

function reasonOf(error: unknown): string {
  const reason = isMillraceError(error) ? error.details['reason'] : undefined;
  if (typeof reason === 'string') return reason;
  return messageOf((error instanceof Error ? error.cause : undefined) ?? error);
}

/** Libraries in native code tell the platform's number of an error and not its name. */
function numberedCode(error: Error): string | undefined {
  const number = 'code' in error ? error.code : undefined;
  const isErrno = typeof number === 'number' && Number.isInteger(number) && number > 0;
  return isErrno ? getSystemErrorName(-number) : undefined;
}

/** Causes are few; a ring of them would hold us. */
const depthMax = 8;

/**
 * "the file system is full (ENOSPC)" where the fault is known, else the error's own words; without a path, because paths of session files name
 * sessions and anybody may read a probe.
 */
export function describeDiskFault(error: unknown): {
  readonly what: string;
  readonly cure: string;
} {
  const fault = diskFaultOf(error);
  if (fault !== undefined) return { what: `${fault.what} (${fault.code})`, cure: fault.cure };
  return { what: reasonOf(error), cure: 'look at the disk and at the log' };
}
