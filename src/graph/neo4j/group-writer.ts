import { fenceLost, fenceStale, type FencePermit } from '#fence';
import type { Key, Position } from '#record';
import { checkMutations } from '../check-mutations.ts';
import { graphConflict, graphMismatch } from '../errors.ts';
import { checkFence, type FenceMark } from '../fence-mark.ts';
import type { PartMutations } from '../merge-group.ts';
import { stepsOf, type AnyPart, type AppliedStep } from '../packed-part.ts';
import { planSteps } from '../plan-steps.ts';
import type { AppliedRow, WhichRows } from '../store.ts';
import { inBatches, statement, statementsFor, type WriteStatement } from './cypher.ts';
import type { Row, Transaction } from './link.ts';
import { mergeInside } from './read-set.ts';

const readMark = `
MATCH (g:MillraceGraph {name: 'graph'})
RETURN g.graph_id AS graphId, g.domain AS domain, g.generation AS generation, g.holder AS holder`;

const raiseMark = `
MATCH (g:MillraceGraph {name: 'graph'})
SET g.touch = $generation
WITH g WHERE g.domain IS NULL OR g.domain <> $domain OR g.generation < $generation
  OR (g.generation = $generation AND g.holder = $holder)
SET g.domain = $domain, g.generation = $generation, g.holder = $holder
RETURN 1 AS raised`;

/** The write lock comes before anything is compared (FEN-410). */
const lockGuards = `UNWIND $keys AS key
MERGE (g:FenceGuard {resource: key}) SET g.touch = $generation
RETURN key, g.domain AS domain, g.generation AS generation, g.holder AS holder,
  g.root_id AS rootId, g.position AS position, g.sha256 AS sha256`;

const raiseGuards = `UNWIND $keys AS key
MATCH (g:FenceGuard {resource: key})
SET g.domain = $domain, g.generation = $generation, g.holder = $holder`;

const writeRows = `UNWIND $rows AS r
MATCH (g:FenceGuard {resource: r.key})
SET g.root_id = r.rootId, g.position = r.position, g.sha256 = r.sha256`;

const rowColumns =
  'g.resource AS key, g.root_id AS rootId, g.position AS position, g.sha256 AS sha256';

const rowsOfKeys = `UNWIND $keys AS key
MATCH (g:FenceGuard {resource: key}) WHERE g.position IS NOT NULL
RETURN ${rowColumns}`;

const rowsAfter = `MATCH (g:FenceGuard) WHERE g.resource > $after AND g.position IS NOT NULL
RETURN ${rowColumns} ORDER BY g.resource LIMIT $limit`;

/** A part as it came, its steps unpacked once for all tries. */
interface UnpackedPart {
  readonly key: Key;
  readonly workspace: string;
  readonly session: string;
  readonly steps: readonly AppliedStep[];
}

/** Steps of a group, checked: MUTATION_REFUSED is the record's fault whatever the server does. */
export function unpackGroup(group: readonly AnyPart[]): readonly UnpackedPart[] {
  return group.map((part) => {
    const { key, workspace, session } = part;
    const steps = stepsOf(part);
    for (const { mutations } of steps) checkMutations(session, mutations);
    return { key, workspace, session, steps };
  });
}

/** The permit's claim, while it holds (FEN-404). */
export function liveMark(permit: FencePermit): FenceMark {
  const { domain, generation, holder } = permit;
  if (!permit.isLive) throw fenceLost({ domain, generation });
  return { domain, generation, holder };
}

/** What a transaction is about: which graph it expects, and for whom. */
export interface GuardedWrite {
  readonly graphId: string;
  readonly rootId: string;
  readonly permit: FencePermit;
}

/** Guards, mutations, derived values, rows: in one transaction (ING-533). */
export async function applyGroup(
  tx: Transaction,
  { graphId, rootId, permit }: GuardedWrite,
  group: readonly UnpackedPart[],
): Promise<void> {
  const rows = await guard(
    tx,
    { graphId, permit },
    group.map(({ key }) => key),
  );
  const parts: PartMutations[] = [];
  for (const { key, workspace, session, steps } of group) {
    const row = rows.get(key);
    if (row !== undefined && row.rootId !== rootId)
      throw graphMismatch({ thing: `the row of ${key}`, expected: rootId, found: row.rootId });
    const planned = planSteps(steps, row?.position);
    if (planned === undefined) continue;
    const { after: position, sha256 } = planned.last;
    rows.set(key, { rootId, position, sha256 });
    parts.push({ workspace, session, steps: planned.steps });
  }
  if (parts.length === 0) return;
  const { changes, edges } = await mergeInside(tx, parts);
  const statements = [...changes].flatMap(([workspace, changed]) =>
    statementsFor(workspace, changed, edges),
  );
  await Promise.all([
    ...statements.map((one) => runWrite(tx, one)),
    setRows(tx, new Map([...rows].map(([key, row]) => [key, row ?? null]))),
  ]);
  liveMark(permit);
}

/** Raises the guards of these keys and gives their rows (FEN-411). */
export function armKeys(
  tx: Transaction,
  { graphId, permit }: Omit<GuardedWrite, 'rootId'>,
  keys: readonly Key[],
): Promise<ReadonlyMap<Key, AppliedRow | undefined>> {
  return guard(tx, { graphId, permit }, keys);
}

/** Sets rows as ordered, and takes over the guards of another root (ING-542). */
export async function adoptRows(
  tx: Transaction,
  { graphId, permit }: Omit<GuardedWrite, 'rootId'>,
  rows: ReadonlyMap<Key, AppliedRow | null>,
): Promise<void> {
  await guard(tx, { graphId, permit, mayTakeOver: true }, [...rows.keys()]);
  await setRows(tx, rows);
}

export async function readRows(
  tx: Transaction,
  which: WhichRows,
): Promise<ReadonlyMap<Key, AppliedRow>> {
  const rows =
    'keys' in which
      ? await tx.run(statement(rowsOfKeys, { keys: which.keys }))
      : await tx.run(
          statement(rowsAfter, { after: which.after ?? '', limit: BigInt(which.limit) }),
        );
  return new Map(rows.flatMap((row) => rowEntry(row)));
}

/**
 * The mark of the whole graph is looked at without a lock, so that keys do not wait for each other; the guard of each key is locked first and then
 * compared. A writer that is shut out may still end what it had begun on a key that nobody has armed yet, and no more than that (FEN-403).
 */
export async function guard(
  tx: Transaction,
  options: {
    readonly graphId: string;
    readonly permit: FencePermit;
    readonly mayTakeOver?: boolean;
  },
  keys: readonly Key[],
): Promise<Map<Key, AppliedRow | undefined>> {
  const claim = liveMark(options.permit);
  const { domain, holder } = claim;
  const generation = BigInt(claim.generation);
  const sorted = [...new Set(keys)].toSorted();
  const [marks, locked] = await Promise.all([
    tx.run(statement(readMark)),
    Promise.all(
      inBatches(sorted.map((key) => ({ key }))).map((batch) =>
        tx.run(statement(lockGuards, { keys: batch.map(({ key }) => key), generation })),
      ),
    ),
  ]);
  const [graph] = marks;
  const found = String(graph?.['graphId']);
  if (found !== options.graphId)
    throw graphMismatch({ thing: 'the id', expected: options.graphId, found });
  const mark = markOf(graph);
  const verdict = checkFence(mark, claim);
  if (verdict === 'stale') throw stale(claim, mark);
  if (verdict === 'foreign' && options.mayTakeOver !== true)
    throw graphMismatch({ thing: 'the guard', expected: domain, found: mark?.domain ?? '' });
  if (verdict !== 'pass') {
    const raised = await tx.run(statement(raiseMark, { domain, generation, holder }));
    if (raised.length === 0) throw graphConflict({ reason: 'the mark was raised by another' });
  }
  const guards = locked.flat();
  for (const row of guards) {
    const own = markOf(row);
    if (own?.domain === domain && checkFence(own, claim) === 'stale') throw stale(claim, own);
  }
  const raising = guards.filter((row) => checkFence(markOf(row), claim) !== 'pass');
  if (raising.length > 0) {
    const names = raising.map((row) => String(row['key']));
    await tx.run(statement(raiseGuards, { keys: names, domain, generation, holder }));
  }
  const known = new Map(guards.flatMap((row) => rowEntry(row)));
  return new Map(keys.map((key) => [key, known.get(key)]));
}

function stale(claim: FenceMark, mark: FenceMark | undefined): Error {
  const { domain, generation } = claim;
  return fenceStale({ domain, thing: 'the graph', generation, mark: mark?.generation ?? 0 });
}

function markOf(row: Row | undefined): FenceMark | undefined {
  const domain = row?.['domain'];
  if (row === undefined || typeof domain !== 'string') return undefined;
  return { domain, generation: Number(row['generation']), holder: String(row['holder']) };
}

export async function setRows(
  tx: Transaction,
  rows: ReadonlyMap<Key, AppliedRow | null>,
): Promise<void> {
  const sorted = [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const written = sorted.map(([key, row]) => ({
    key,
    rootId: row?.rootId ?? null,
    position: row?.position ?? null,
    sha256: row?.sha256 ?? null,
  }));
  await Promise.all(
    inBatches(written).map((batch) => tx.run(statement(writeRows, { rows: batch }))),
  );
}

function rowEntry(row: Row): readonly (readonly [Key, AppliedRow])[] {
  const { position, rootId, sha256 } = row;
  if (typeof position !== 'string') return [];
  const applied: AppliedRow = {
    rootId: String(rootId),
    position: position as Position,
    sha256: String(sha256),
  };
  return [[String(row['key']) as Key, applied]];
}

/** An edge that finds no end, or a node that is gone, is no silence (ING-612): another transaction was there first. */
export async function runWrite(tx: Transaction, { rows, ...one }: WriteStatement): Promise<void> {
  const [answer] = await tx.run(one);
  if (rows === undefined) return;
  const written = Number(answer?.['written']);
  if (written === rows) return;
  throw graphConflict({ reason: `${rows - written} of ${rows} rows found nothing to write to` });
}
