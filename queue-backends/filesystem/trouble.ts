import { formatBytes, isMillraceError } from '#base';
import { describeDiskFault, diskFaultOf } from '#disk';
import { type QueueTrouble, diskFull, queueWriteFailed } from '#queue';
import type { Engine } from './engine.ts';

/** What fails, since when (epoch ms), and what that means for those who post. */
interface Fault {
  readonly error: unknown;
  readonly since: number;
}

const refused = 'appends get 503 and nothing is acknowledged that is not on disk';

/** What is wrong now, the worst first, one line each: which file system, what fails, what it means, what to do (QFS-30, QFS-31). */
export function troubleOf(engine: Engine): readonly QueueTrouble[] {
  const { journal, filler, indexer, checkpointTrouble } = engine;
  return [
    ...fromStateDamage(engine),
    ...fromFault(engine, journal.trouble, 'the journal cannot be written', refused, true),
    ...fromReserve(engine),
    ...fromFault(
      engine,
      filler.trouble,
      'a session file cannot be written',
      'its records are safe in the journal',
    ),
    ...fromFault(
      engine,
      recentReadTrouble(engine),
      'files of a session cannot be read',
      'its events get 503, and those of sessions in memory go on',
    ),
    ...fromFault(
      engine,
      indexer.trouble,
      'the state store cannot be written',
      'event ids are safe in the journal',
    ),
    ...engine.notes,
    ...fromLetterGaps(engine),
    ...fromFault(
      engine,
      checkpointTrouble,
      'a checkpoint failed',
      'its frames stay in the journal, which grows meanwhile',
    ),
  ];
}

/** Ids that nobody can look up make duplicates: a daemon that has met damage is not ready, until its next start has made a new store. */
function fromStateDamage({ options }: Engine): readonly QueueTrouble[] {
  const damage = options.stateDamage?.();
  if (damage === undefined) return [];
  const { code, message, since } = damage;
  return [{ code, message, place: options.directory, since, isRefusing: true }];
}

/** Dead letters that are lost hold nobody up, and are told until their file is put back. */
function fromLetterGaps({ letterGaps, options }: Engine): readonly QueueTrouble[] {
  const [first] = letterGaps;
  if (first === undefined) return [];
  const [key, { counted, found, since }] = first;
  const others = letterGaps.size === 1 ? '' : `, and ${letterGaps.size - 1} more sessions`;
  return [
    {
      code: 'DEAD_LETTERS_MISSING',
      message: `the books of ${key} count ${counted} dead letters, its files hold ${found}${others}: restore the dead.jsonl and dead.*.jsonl of its folder from a backup, then "millrace queue recover"; or count them as lost: "millrace dead write-off"; its other events are not concerned`,
      place: options.directory,
      since: new Date(since).toISOString(),
      isRefusing: false,
    },
  ];
}

/** How long a read that failed is told when none has succeeded since: who asked may never come back. */
const readTroubleMs = 10_000;

/** A fault of the machine that was met while a key was read. */
export function noteReadTrouble(engine: Engine, error: unknown): void {
  if (diskFaultOf(error) === undefined) return;
  const { clock } = engine.options;
  const since = recentReadTrouble(engine)?.since ?? clock.now();
  engine.readTrouble = { error, since, lastMs: clock.monotonic() };
}

function recentReadTrouble({ readTrouble, options }: Engine): Fault | undefined {
  if (readTrouble === undefined) return undefined;
  const isRecent = options.clock.monotonic() - readTrouble.lastMs < readTroubleMs;
  return isRecent ? readTrouble : undefined;
}

function fromFault(
  { options }: Engine,
  fault: Fault | undefined,
  what: string,
  effect: string,
  isRefusing = false,
): readonly QueueTrouble[] {
  if (fault === undefined) return [];
  const { error, since } = fault;
  const { what: why, cure } = describeDiskFault(error);
  return [
    {
      code: isMillraceError(error) ? error.code : queueWriteFailed.code,
      message: `${what}: ${why}; ${effect}; ${cure}: it heals by itself`,
      place: options.directory,
      since: new Date(since).toISOString(),
      isRefusing,
    },
  ];
}

/** A full file system that still takes commits: appends stop first, so that it can empty itself (QFS-30). */
function fromReserve({ space, options }: Engine): readonly QueueTrouble[] {
  const since = space.shortSince;
  if (since === undefined) return [];
  const free = formatBytes(Math.max(0, space.freeBytes()));
  return [
    {
      code: diskFull.code,
      message: `the file system is nearly full: ${free} are free and ${formatBytes(space.keptBytes)} are kept to apply what was accepted (queue.reserve_bytes, and room for the backlog); ${refused}, the drain goes on; free space on it: it heals by itself`,
      place: options.directory,
      since: new Date(since).toISOString(),
      isRefusing: true,
    },
  ];
}
