import { close, constants, fdatasync, fstat, ftruncate, open, read, writev } from 'node:fs';
import type { DiskFile } from './disk.ts';
import { platformError } from './platform-error.ts';

type Writev = (
  fd: number,
  buffers: readonly Uint8Array[],
  offset: number,
  done: (error: Error | null, written: number) => void,
) => void;

/**
 * A file behind its descriptor. Callbacks, not FileHandles: the same speed (110 µs for 4 KB written and synced), and no handle that the
 * collector may close. The number of a closed descriptor is given to the next file that is opened, so a closed one is never used again and
 * closing waits for the calls in flight.
 */
export function nodeFile(path: string, fd: number, writevCall: Writev = writev): DiskFile {
  let isOpen = true;
  let inFlight = 0;
  let onIdle: (() => void) | undefined;
  let durable: Promise<number | undefined> | undefined;

  const call = async <T>(
    name: string,
    start: (done: (error: Error | null, value: T) => void) => void,
  ): Promise<T> => {
    if (!isOpen) throw platformError('EBADF', name, path);
    inFlight += 1;
    try {
      return await new Promise<T>((resolve, reject) => {
        start((error, value) => (error ? reject(error) : resolve(value)));
      });
    } finally {
      inFlight -= 1;
      if (inFlight === 0) onIdle?.();
    }
  };

  const writeAll = async (
    to: number,
    buffers: readonly Uint8Array[],
    offset: number,
  ): Promise<void> => {
    let rest = buffers;
    let at = offset;
    while (rest.length > 0) {
      const now = rest;
      const written = await call<number>('write', (done) => writevCall(to, now, at, done));
      rest = afterBytes(rest, written);
      // A disk that takes nothing and says no error would hold us here for ever.
      if (written === 0 && rest.length > 0) throw platformError('EIO', 'write', path);
      at += written;
    }
  };

  const sync = (): Promise<void> =>
    call('fdatasync', (done) => fdatasync(fd, (error) => done(error)));

  const writeDurablyAt = async (buffers: readonly Uint8Array[], offset: number): Promise<void> => {
    durable ??= openDurable(fd);
    const to = await durable;
    await writeAll(to ?? fd, buffers, offset);
    if (to === undefined) await sync();
  };

  return {
    path,
    readAt: (into, offset) =>
      call('read', (done) => read(fd, into, 0, into.byteLength, offset, done)),
    writeAt: (buffers, offset) => writeAll(fd, buffers, offset),
    writeDurablyAt: process.platform === 'linux' ? writeDurablyAt : undefined,
    sync,
    truncate: (size) => call('ftruncate', (done) => ftruncate(fd, size, (error) => done(error))),
    size: async () => (await call<{ size: number }>('fstat', (done) => fstat(fd, done))).size,
    async close() {
      if (!isOpen) return;
      isOpen = false;
      if (inFlight > 0) await new Promise<void>((resolve) => (onIdle = resolve));
      const other = await durable;
      if (other !== undefined) await closeDescriptor(other);
      await closeDescriptor(fd);
    },
  };
}

function closeDescriptor(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    close(fd, (error) => (error ? reject(error) : resolve()));
  });
}

/**
 * The same file once more, whatever its name is by now, with writes that return when they are durable. Undefined where that cannot be had:
 * without /proc, or without a descriptor left.
 */
function openDurable(fd: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    open(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_DSYNC, (error, opened) => {
      resolve(error === null ? opened : undefined);
    });
  });
}

/** What is left of the buffers once their first `count` bytes are written; empty ones are dropped. */
function afterBytes(buffers: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let skip = count;
  for (const [index, buffer] of buffers.entries()) {
    if (skip < buffer.byteLength) {
      const rest = [buffer.subarray(skip), ...buffers.slice(index + 1)];
      return rest.filter(({ byteLength }) => byteLength > 0);
    }
    skip -= buffer.byteLength;
  }
  return [];
}
