import { assert, unreachable } from '#base';
import { diskOf, type MemoryDisk } from './memory-disk.ts';
import type { MemoryFile } from './memory-tree.ts';
import type { MemoryVolume } from './memory-volume.ts';
import type { NamedPowerLoss, PowerLoss } from './power-loss.ts';
import type { DiskLog, DiskStep } from './recording-disk.ts';

/** The disk after a crash, and how it came about. */
export interface Crash {
  /** The number of the last step that was done; -1 before the first. */
  readonly step: number;
  readonly loss: string;
  readonly disk: MemoryDisk;
  /** Marks that were set before the crash, in order. */
  readonly marks: readonly DiskMark[];
}

export type DiskMark = Extract<DiskStep, { kind: 'mark' }>;

/** Replays steps on a volume; remembers which file each opening named and how far the volume was after each step. */
class Replay {
  readonly #volume: MemoryVolume;
  readonly #files = new Map<number, MemoryFile>();
  readonly #sequences: number[] = [];

  constructor(start: MemoryDisk, failedSyncs: PowerLoss['failedSyncs']) {
    this.#volume = start.volume.copy(failedSyncs);
    this.#sequences.push(this.#volume.sequence);
  }

  step(step: DiskStep): void {
    this.#do(step);
    this.#sequences.push(this.#volume.sequence);
  }

  after(loss: PowerLoss): MemoryDisk {
    return diskOf(this.#volume.after(loss));
  }

  #do(step: DiskStep): void {
    const volume = this.#volume;
    switch (step.kind) {
      case 'create':
      case 'open':
        this.#files.set(step.file, this.#opened(step.path));
        return;
      case 'write':
        volume.change(this.#file(step.file), step);
        return;
      case 'truncate':
        volume.change(this.#file(step.file), step);
        return;
      case 'sync':
        volume.syncFile(this.#file(step.file), this.#sequenceAt(step.covers));
        return;
      case 'failed-sync':
        this.#file(step.file).failSync();
        return;
      case 'make-directory':
        volume.makeDirectory(step.path);
        return;
      case 'sync-directory':
        volume.directory(step.path, 'fsync').sync(this.#sequenceAt(step.covers));
        return;
      case 'rename':
        volume.rename(step.path, step.to);
        return;
      case 'unlink':
        volume.unlink(step.path);
        return;
      case 'mark':
        return;
      default:
        unreachable(step);
    }
  }

  /** Two openings at once may both have been logged as the one that made the file. */
  #opened(path: string): MemoryFile {
    const found = this.#volume.find(path, 'open');
    return found === undefined ? this.#volume.createFile(path) : this.#volume.file(path, 'open');
  }

  #file(number: number): MemoryFile {
    const file = this.#files.get(number);
    assert(file !== undefined, `file ${number} was not opened in this log`);
    return file;
  }

  #sequenceAt(stepCount: number): number {
    const sequence = this.#sequences[stepCount];
    assert(sequence !== undefined, `step ${stepCount} lies in the future of its sync`);
    return sequence;
  }
}

/** The disk as of after step `upTo` of the log (-1: before the first), once the power was lost and is back. */
export function materialise(log: DiskLog, upTo: number, loss: PowerLoss): MemoryDisk {
  const replay = new Replay(log.start, loss.failedSyncs);
  for (const step of log.steps.slice(0, upTo + 1)) replay.step(step);
  return replay.after(loss);
}

/**
 * Every crash of a log: before the first and after each step, with each loss. An opened file alone changes nothing and is passed over.
 * A crash found bad is made again by `materialise(log, crash.step, loss.at(crash.step))`.
 */
export function* everyCrash(log: DiskLog, losses: readonly NamedPowerLoss[]): Generator<Crash> {
  for (const loss of losses) {
    const replay = new Replay(log.start, loss.at(-1).failedSyncs);
    const marks: DiskMark[] = [];
    const crash = (step: number): Crash => ({
      step,
      loss: loss.name,
      disk: replay.after(loss.at(step)),
      marks: [...marks],
    });
    yield crash(-1);
    for (const [index, step] of log.steps.entries()) {
      replay.step(step);
      if (step.kind === 'mark') marks.push(step);
      if (step.kind !== 'open') yield crash(index);
    }
  }
}
