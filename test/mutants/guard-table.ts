/** A defect that a guard must turn red on: where it is written, and the words that name it there. */
export interface Mutant {
  readonly defect: string;
  readonly file: string;
}

/** One guard of ING spec §11, G1 to G46. */
export interface Guard {
  readonly guard: string;
  readonly race: string;
  /** File of the test that is green on the code and red on the mutants. */
  readonly test: string;
  readonly mutants: readonly Mutant[];
}

const drainMutants = 'test/drain/mutants.test.ts';
const reconcile = 'test/mutants/reconcile-guard.test.ts';
const damage = 'test/drain/damage.test.ts';
const journal = 'test/mutants/journal-guards.test.ts';
const small = 'test/mutants/small-guards.test.ts';
const experiments = 'test/lab/experiments.test.ts';
const broken = 'test/contract/self/broken-queues.test.ts';
const appends = 'test/contract/self/broken-appends.ts';
const keepings = 'test/contract/self/broken-keepings.ts';
const locks = 'test/queue/locks.test.ts';
const stopped = 'test/e2e/stopped-daemon.test.ts';

const endings = 'test/mutants/ending-guards.test.ts';
const endingsRace = 'test/queue-backends/filesystem/endings-race.test.ts';
const withoutLock = 'would not without the lock that a %s holds';

function of(guard: string, race: string, test: string, ...mutants: readonly Mutant[]): Guard {
  return { guard, race, test, mutants };
}

function at(file: string, defect: string): Mutant {
  return { file, defect };
}

/** Guard → mutant → test; test/tidy/guards.test.ts holds it to the files. */
export const guards: readonly Guard[] = [
  of(
    'G1',
    'commit against reconcile',
    experiments,
    at('src/lab/races/record-race.ts', 'the record writer leaves the lock to its callers'),
  ),
  of('G2', 'commit against compaction', endingsRace, at(endingsRace, withoutLock)),
  of(
    'G3',
    'staging names',
    experiments,
    at('src/lab/races/staging-race.ts', 'one staging name for all'),
  ),
  of(
    'G4',
    'reclaim of staging files',
    small,
    at(small, 'staging files are reclaimed by their suffix'),
  ),
  of(
    'G5',
    'corrupt record at the idle exit',
    damage,
    at(damage, 'the re-check before a worker leaves reads beside the one place (T05)'),
  ),
  of(
    'G6',
    'corrupt record behind session:end',
    damage,
    at(damage, 'what stands behind the end of a session is read beside the one place (T06)'),
  ),
  of(
    'G7',
    'session id used again, equal payload',
    endings,
    at(endings, 'letters of an epoch that has ended stay live and count for every epoch (ING-T07)'),
  ),
  of(
    'G8',
    'two failing attempts',
    small,
    at(small, 'a fold changes a nested map of the cursor in place'),
  ),
  of(
    'G9',
    'exhausted batch, then isolation',
    small,
    at(small, 'what was issued is remembered outside the cursor'),
  ),
  of(
    'G10',
    'one layer of the cursor',
    drainMutants,
    at(drainMutants, 'a cursor is taken as it comes (T10)'),
  ),
  of(
    'G11',
    'passing EIO against damage',
    small,
    at(small, 'one catch-all takes a passing EIO for damage'),
  ),
  of('G12', 'two starts at one time', small, at(small, 'run ids have no sequence')),
  of(
    'G13',
    'crash around a dead letter',
    broken,
    at(keepings, 'a dead letter is written before its commit, as a step of its own (D5)'),
  ),
  of(
    'G14',
    'boot reconcile beside live workers',
    reconcile,
    at(reconcile, 'is told from one that reads the key before it has the guard (ING-T14, ING-T00)'),
  ),
  of(
    'G15',
    'reset on a log that can be drained again',
    endings,
    at(endings, 'a reset writes an empty cursor (ING-T15)'),
  ),
  of(
    'G16',
    'guard table under churn',
    locks,
    at(
      'test/mutants/locks-await-before-insert.ts',
      'an await between the look-up of the table and the insert',
    ),
    at('src/lab/races/lock-race.ts', 'an await between the look-up of the table and the insert'),
  ),
  of(
    'G17',
    'the interface against its list',
    'test/queue/protocol.test.ts',
    at('test/queue/protocol.test.ts', 'a pass over dead letters becomes a member (ING-T17)'),
  ),
  of(
    'G18',
    'Promise.all under one guard',
    locks,
    at('test/mutants/locks-leaves-side-by-side.ts', 'the guard has no queue of its own'),
  ),
  of(
    'G19',
    'detached task after the hold',
    locks,
    at(
      'test/mutants/locks-by-async-context.ts',
      'who owns a key is inferred from the async context',
    ),
  ),
  of(
    'G20',
    'another thread opens the root',
    'test/queue/owner-thread.test.ts',
    at(
      'test/mutants/thread-without-check.ts',
      'another thread opens the queue as if it were its own',
    ),
  ),
  of(
    'G21',
    'second process on the root',
    stopped,
    at(stopped, 'The lock of a root as an administrator might take it away'),
  ),
  of(
    'G22',
    'torn tail, then append',
    journal,
    at(journal, 'a frame is taken without a look at its checksum (ING-T22)'),
  ),
  of('G23', 'finalise against a late append', endingsRace, at(endingsRace, withoutLock)),
  of(
    'G24',
    'graph away with a backlog',
    drainMutants,
    at(drainMutants, 'an outage uses up the budget (T24)'),
  ),
  of(
    'G25',
    'stale daemon resumes',
    'test/graph/contract-self.test.ts',
    at('test/mutants/graph-defects.ts', 'writes whatever generation the permit has'),
  ),
  of(
    'G26',
    'crash between end event and finalise',
    endings,
    at(endings, 'that the end was seen is kept in memory alone (ING-T26)'),
  ),
  of('G27', 'two equal poison lines', small, at(small, 'dead lines are matched by their bytes')),
  of(
    'G28',
    'crash between the last steps of finalise',
    endings,
    at(endings, 'the offset record goes before the log (ING-T28)'),
  ),
  of(
    'G29',
    'record damaged after a compaction',
    endings,
    at(endings, 'the cursor behind a compaction is folded from an empty one (ING-T29)'),
    at(endings, 'the cursor behind a compaction is folded from the committed one (ING-T29)'),
  ),
  of(
    'G30',
    'two requests with one event id',
    experiments,
    at(
      'src/lab/races/event-id-race.ts',
      'the id is looked up before the append and noted after it',
    ),
    at(
      appends,
      'ids are looked up before the append and noted after it, without a guard (ING-T30)',
    ),
  ),
  of(
    'G31',
    'poison in the middle, then a crash',
    drainMutants,
    at(drainMutants, 'dead letters wait for a later commit (T31)'),
  ),
  of(
    'G32',
    'one poison record in a group',
    drainMutants,
    at(drainMutants, 'a refused group dies as a whole (T32)'),
    at(drainMutants, 'the second half goes before the first (T32)'),
  ),
  of(
    'G33',
    'records behind a dead one',
    drainMutants,
    at(drainMutants, 'records behind a dead one keep the cursor that had seen it (T33)'),
  ),
  of(
    'G34',
    'same id, other content',
    broken,
    at(appends, 'another content of a known id is dropped in silence (ING-T34)'),
    at(appends, 'contents are compared as raw bytes (ING-T34)'),
  ),
  of(
    'G35',
    'bytes that a careless reader changes',
    broken,
    at(appends, 'stored bytes are decoded with loss (D14)'),
  ),
  of(
    'G36',
    'quota or fault for one key of a batch',
    broken,
    at(appends, 'a request above the limit of one key is taken in part (D19, P9)'),
  ),
  of(
    'G37',
    'crash at every byte of a group',
    broken,
    at(appends, 'the records of a request become durable one by one (D19)'),
  ),
  of(
    'G38',
    'requests over several keys',
    locks,
    at(
      'test/mutants/locks-in-request-order.ts',
      'the guards of a request are taken in the order in which it names its keys',
    ),
  ),
  of(
    'G39',
    'session used again after finalise',
    endingsRace,
    at(endingsRace, 'Defect (ING-T39): an epoch begins with an empty cursor'),
  ),
  of(
    'G40',
    'sync fails, then that of its ABANDON',
    journal,
    at(journal, 'ABANDON names the last segment only (ING-T40)'),
  ),
  of(
    'G41',
    'quarantined key while the journal wraps',
    journal,
    at(journal, 'the mark moves before the copies are synced (ING-T41)'),
    at(journal, 'copies get sequence numbers of their own (ING-T41)'),
  ),
  of(
    'G42',
    'older root beside a newer graph',
    drainMutants,
    at(drainMutants, 'positions are compared and digests are not (T42)'),
  ),
  of(
    'G43',
    'graph adopt killed after each key',
    'test/drain/adopt.test.ts',
    at('test/mutants/adopt-defects.ts', 'changes format.json first'),
    at('test/mutants/adopt-defects.ts', 'sets a row before its ids are forgotten'),
  ),
  of(
    'G44',
    'backup under load, restored',
    'test/drain/adopt.test.ts',
    at('test/drain/adopt.test.ts', 'is told from one that removes the mark first (ING-T44)'),
    at(
      'test/backup/instant.test.ts',
      'is told from one whose graph is of an earlier instant than its journal (ING-T44)',
    ),
  ),
  of(
    'G45',
    'new tenure beside a stopped daemon',
    journal,
    at(journal, 'a group is answered without a look at the lease row (ING-T45)'),
  ),
  of(
    'G46',
    'line damaged in mid-log',
    small,
    at(small, 'a line is taken without a look at its checksum'),
  ),
];
