import type { Properties, SessionFact } from '../mutation.ts';

/** A fact with the event that tells it. */
export interface ToldFact {
  readonly source: string;
  readonly fact: SessionFact;
}

/** What follows from all facts about one session (D25, ING-616). */
export interface DerivedSession {
  readonly labels: readonly string[];
  readonly properties: Properties;
  readonly parentEdge: ParentEdge | undefined;
}

export interface ParentEdge {
  /** Session id of the parent. */
  readonly parent: string;
  readonly type: ParentEdgeType;
  readonly occurredAt: string;
}

export type ParentEdgeType = (typeof parentEdgeTypes)[number];

/** Drawn by the derivation alone, into the session that the facts are about. */
export const parentEdgeTypes = ['FORKED', 'HAS_SUBSESSION'] as const;

export const parentEdgeProperties: Properties = { sst_semantic: 'LEADS_TO' };

/**
 * Labels, parent and agent of a session, from facts in any order: every choice is by rank, then by the smallest (`occurredAt`, source), so
 * the order in which keys came does not matter (P12). `isWritten`: the session's own key wrote its node.
 *
 * A fork makes it Forked for good, else a parent makes it Sub, else a start makes it Root. There is one parent: a fork's own word goes before
 * that of the parent's stream, then a start's; an end's counts for `parent_id` alone.
 */
export function deriveSession(
  about: string,
  told: readonly ToldFact[],
  isWritten: boolean,
): DerivedSession {
  const facts = told.toSorted(byTime).map(({ fact }) => fact);
  const forks = facts.filter((fact) => fact.type === 'forked');
  const starts = facts.filter((fact) => fact.type === 'started');
  const ends = facts.filter((fact) => fact.type === 'ended');
  const isForked = forks.length > 0;
  const named = [...forks.filter(isToldByChild), ...forks, ...starts].find(namesParentOf(about));
  const parent = named?.parent ?? ends.find(namesParentOf(about))?.parent ?? undefined;
  return {
    labels: labelsOf({
      isForked,
      isStarted: starts.length > 0,
      isEnded: ends.length > 0,
      hasParent: named !== undefined,
      isWritten,
    }),
    properties: propertiesOf(about, { facts, parent, isWritten }),
    parentEdge: parentEdgeOf(isForked, [...forks, ...starts], named?.parent ?? undefined),
  };
}

interface SessionClaims {
  readonly isForked: boolean;
  readonly isStarted: boolean;
  readonly isEnded: boolean;
  readonly hasParent: boolean;
  readonly isWritten: boolean;
}

function labelsOf(claims: SessionClaims): readonly string[] {
  const type = typeOf(claims);
  return [
    ...(type === undefined ? [] : [type]),
    ...(type !== undefined || claims.isEnded ? ['SST_EVENT'] : []),
    ...(type === undefined && claims.isEnded ? ['IncompleteSession'] : []),
    ...(claims.isWritten ? [] : ['StubSession']),
  ];
}

function typeOf({ isForked, isStarted, hasParent }: SessionClaims): string | undefined {
  if (isForked) return 'ForkedSession';
  if (!isStarted) return undefined;
  return hasParent ? 'SubSession' : 'RootSession';
}

function propertiesOf(
  about: string,
  known: {
    readonly facts: readonly SessionFact[];
    readonly parent: string | undefined;
    readonly isWritten: boolean;
  },
): Properties {
  const agent = agentIn(known.facts);
  return {
    ...(known.isWritten ? {} : { session_id: about, status: 'running' }),
    ...(known.parent === undefined ? {} : { parent_id: known.parent }),
    ...(agent === undefined ? {} : { agent }),
  };
}

/** A spawn's word goes before that of a fork told by the parent; of several spawns the earliest, then the smallest delegation id. */
function agentIn(facts: readonly SessionFact[]): string | undefined {
  const spawns = facts
    .filter((fact) => fact.type === 'spawned')
    .sort((a, b) => compare(a.occurredAt, b.occurredAt) || compare(a.delegation, b.delegation));
  const forks = facts.filter((fact) => fact.type === 'forked' && fact.agent !== undefined);
  return [...spawns, ...forks].map((fact) => ('agent' in fact ? fact.agent : undefined))[0];
}

/** The time is the earliest at which anybody named this parent. */
function parentEdgeOf(
  isForked: boolean,
  facts: readonly Parented[],
  parent: string | undefined,
): ParentEdge | undefined {
  if (parent === undefined) return undefined;
  const times = facts.filter((fact) => fact.parent === parent).map((fact) => fact.occurredAt);
  return {
    parent,
    type: isForked ? 'FORKED' : 'HAS_SUBSESSION',
    occurredAt: times.sort(compare)[0] ?? '',
  };
}

type Parented = Extract<SessionFact, { readonly type: 'started' | 'forked' | 'ended' }>;

function namesParentOf(about: string): (fact: Parented) => boolean {
  return ({ parent }) => parent !== null && parent !== about;
}

function isToldByChild(fact: Extract<SessionFact, { readonly type: 'forked' }>): boolean {
  return fact.toldBy === 'child';
}

function byTime(a: ToldFact, b: ToldFact): number {
  return compare(a.fact.occurredAt, b.fact.occurredAt) || compare(a.source, b.source);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
