import type { Disk } from '#disk';
import {
  verifyQueue,
  type VerifiedKey,
  type VerifyFinding,
  type VerifyOptions,
  type VerifySummary,
} from '#queue-backends/filesystem';
import { append, drain, numbered } from '../../contract/queue/steps.ts';
import { fakeClock } from '../../support/clock.ts';
import { queueDirectory } from '../../support/filesystem-queue.ts';
import type { Place } from './place.ts';

export interface Verified {
  readonly summary: VerifySummary;
  readonly keys: readonly VerifiedKey[];
  readonly all: readonly VerifyFinding[];
  /** Codes that make the exit code 1. */
  readonly codes: readonly string[];
  readonly notes: readonly string[];
}

export async function verify(
  disk: Disk,
  isLive = false,
  askGraph?: VerifyOptions['askGraph'],
): Promise<Verified> {
  const keys: VerifiedKey[] = [];
  const ofRoot: VerifyFinding[] = [];
  const summary = await verifyQueue({
    disk,
    clock: { ...fakeClock(), sleep: () => Promise.resolve() },
    directory: queueDirectory,
    rootId: 'SR-test',
    isLive,
    askGraph,
    onKey: (key) => void keys.push(key),
    onFinding: (finding) => void ofRoot.push(finding),
    onProgress: () => undefined,
  });
  const all = [...ofRoot, ...keys.flatMap(({ findings }) => findings)];
  const of = (level: string): string[] =>
    [...new Set(all.filter((one) => one.level === level).map(({ code }) => code))].toSorted();
  return { summary, keys, all, codes: of('finding'), notes: of('note') };
}

/** A queue of two sessions, four records, two of them committed, closed in order. */
export async function filled(place: Place): Promise<void> {
  const queue = await place.open();
  await append(queue, ...numbered('s', 0, 3));
  await append(queue, ...numbered('t', 0, 1));
  await drain(queue, 's', 2);
  await queue.close();
}
