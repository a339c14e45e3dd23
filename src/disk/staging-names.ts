import type { Chance } from '#base';

/** Who wrote a staging file: a process is known by its id and the nonce of its start, since ids come back. */
export interface StagingWriter {
  readonly pid: number;
  readonly bootNonce: string;
}

/** Makes names that no other write can have (ING-230). One per process. */
export interface StagingNames {
  readonly writer: StagingWriter;
  /** `<path>.<pid>-<boot nonce>-<counter>.tmp` */
  nextFor(path: string): string;
}

export interface StagingName extends StagingWriter {
  /** The path that the file was meant to become. */
  readonly target: string;
  readonly counter: number;
}

export function stagingNames(pid: number, chance: Chance): StagingNames {
  const bootNonce = Buffer.from(chance.bytes(8)).toString('hex');
  let counter = 0;
  return {
    writer: { pid, bootNonce },
    nextFor(path) {
      counter += 1;
      return `${path}.${pid}-${bootNonce}-${counter}.tmp`;
    },
  };
}

const pattern = /^(.+)\.([1-9][0-9]{0,15})-([0-9a-f]{16})-([1-9][0-9]{0,15})\.tmp$/s;

/** Attributes a staging file to its target and writer (ING-232); undefined for every other name. */
export function parseStagingName(path: string): StagingName | undefined {
  const match = pattern.exec(path);
  const [, target, pid, bootNonce, counter] = match ?? [];
  if (target === undefined || bootNonce === undefined || target.endsWith('/')) return undefined;
  return { target, pid: Number(pid), bootNonce, counter: Number(counter) };
}

/** Only what another start of the program left behind may be removed; our own may still be written (ING-232). */
export function isStaleStaging(name: StagingName, running: StagingWriter): boolean {
  return name.bootNonce !== running.bootNonce;
}
