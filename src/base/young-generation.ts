import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Each of its two halves, in MiB. */
const halfMib = 8;
/** A thread whose young generation is still smaller grows as V8 lets it: a factor of 1 would hold it there. */
const boundedBytesMin = halfMib * 2 ** 20;

/**
 * Keeps the young generation of this thread, and of each thread that begins afterwards, at 16 MiB (P9). V8 doubles it while much is alive at its collections, up to
 * 128 MiB a thread, and keeps it: three busy threads held 300 MiB more, and an event took no less CPU. To be called once the program is loaded, which makes it
 * that large: from then on it grows by a factor of 1. Whoever gave Node a size of his own keeps it.
 */
export function boundYoungGeneration(nodeOptions: readonly string[]): void {
  if (nodeOptions.some((option) => /semi[-_]space/.test(option))) return;
  setFlagsFromString(`--min-semi-space-size=${halfMib}`);
  setFlagsFromString(`--max-semi-space-size=${halfMib}`);
  if (youngBytes() >= boundedBytesMin) setFlagsFromString('--semi-space-growth-factor=1');
}

/** Bytes of memory that the young generation of this thread has taken. */
export function youngBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return space?.space_size ?? 0;
}
