import { sessionNodeId } from '#record';
import { conceptNodeId, conceptOfId, type Concept } from './concept.ts';
import { deriveAgents, type AgentDraft } from './derive-agents.ts';
import {
  deriveSession,
  parentEdgeProperties,
  parentEdgeTypes,
  type ParentEdge,
  type ToldFact,
} from './derive/derive-session.ts';
import { selfAgent } from './derive/resolve-agent.ts';
import type { ConceptSource, EdgeChange, GraphReader, GroupChanges } from './group-changes.ts';
import { mergeConcept, mergeDerived, mergeEdge, mergeOwned, mergeStub } from './merge-node.ts';
import type { ConceptMutation, EdgeEnd, EdgeMutation, Mutation, Properties } from './mutation.ts';
import type { EdgeState, NodeState } from './node-state.ts';
import type { GroupPart } from './store.ts';

/** What of a part the merge reads. */
export type PartMutations = Pick<GroupPart, 'workspace' | 'session'> & {
  readonly steps: readonly { readonly mutations: readonly Mutation[] }[];
};

/**
 * What a group makes of a graph: mutations in the order of each key's log, then the derived values of every session that they touched
 * (ING-533, ING-616). Pure but for the reading: the reader gives the state before the group, and nothing is written here. Both stores use it,
 * so that both mean the same by each mutation.
 */
export function mergeGroup(
  reader: GraphReader,
  group: readonly PartMutations[],
): ReadonlyMap<string, GroupChanges> {
  const drafts = new Map<string, WorkspaceDraft>();
  for (const { workspace, session, steps } of group) {
    const draft = drafts.get(workspace) ?? new WorkspaceDraft(reader, workspace);
    drafts.set(workspace, draft);
    for (const { mutations } of steps) {
      for (const mutation of mutations) draft.merge(session, mutation);
    }
  }
  for (const draft of drafts.values()) draft.derive();
  return drafts;
}

/** The part of a group in one workspace, as it grows. Edges never cross workspaces. */
export class WorkspaceDraft implements GroupChanges, AgentDraft {
  readonly nodes: Map<string, { readonly before: NodeState | undefined; after: NodeState }> =
    new Map();
  readonly edges: Map<string, EdgeChange> = new Map();
  readonly conceptSources: ConceptSource[] = [];
  readonly #facts = new Map<string, Map<string, ToldFact>>();
  /** Owner → delegations that it wrote in this group. */
  readonly #delegations = new Map<string, Set<string>>();
  readonly #touched = new Set<string>();
  readonly #reader: GraphReader;
  readonly #workspace: string;
  /** Facts that were taken away before: they count in what was, not in what is. */
  readonly #lost: ReadonlyMap<string, readonly ToldFact[]>;

  constructor(
    reader: GraphReader,
    workspace: string,
    lost: ReadonlyMap<string, readonly ToldFact[]> = new Map(),
  ) {
    this.#reader = reader;
    this.#workspace = workspace;
    this.#lost = lost;
  }

  get factChanges(): GroupChanges['factChanges'] {
    return [...this.#facts].flatMap(([about, told]) =>
      [...told.values()].map((fact) => ({ about, ...fact })),
    );
  }

  merge(session: string, mutation: Mutation): void {
    switch (mutation.kind) {
      case 'node':
        this.#change(mutation.id, mutation.owner, (state) => mergeOwned(state, mutation));
        if (mutation.labels.includes('Delegation')) this.#wrote(mutation.owner, mutation.id);
        break;
      case 'stub':
        this.#ensure(mutation);
        break;
      case 'concept':
        this.#mergeConcept(session, mutation);
        break;
      case 'edge':
        this.#mergeEdge(mutation);
        break;
      case 'remove-edge':
        if (this.#isOwned(session, mutation.from) && this.#isOwned(session, mutation.to))
          this.#put({ ...mutation, isReplaced: true, state: undefined });
        break;
      case 'fact':
        this.#tell(mutation.about, mutation);
        break;
    }
  }

  /** First what each session's facts say of itself, then what follows for others. */
  derive(): void {
    for (const session of this.#touched) this.#deriveOne(session);
    deriveAgents(this, this.#touched, this.#delegations);
  }

  node(id: string): NodeState | undefined {
    return this.#node(id);
  }

  facts(session: string): readonly ToldFact[] {
    const facts = new Map<string, ToldFact>();
    for (const told of this.#stored(session)) facts.set(factKey(told), told);
    for (const [key, told] of this.#facts.get(session) ?? []) facts.set(key, told);
    return [...facts.values()];
  }

  factsBefore(session: string): readonly ToldFact[] {
    return [...this.#stored(session), ...(this.#lost.get(session) ?? [])];
  }

  /** Makes sure that a session of which facts have gone is derived again. */
  touch(session: string): void {
    this.#touched.add(session);
  }

  /** A delegation of which other streams told, and do no more or may not. */
  touchDelegation(owner: string, delegation: string): void {
    this.#wrote(owner, delegation);
  }

  news(session: string): readonly ToldFact[] {
    return [...(this.#facts.get(session)?.values() ?? [])];
  }

  typeOf(session: string): string | undefined {
    return sessionTypeOf(this.#node(sessionNodeId(session)));
  }

  typeBefore(session: string): string | undefined {
    const id = sessionNodeId(session);
    const known = this.nodes.get(id);
    return sessionTypeOf(known === undefined ? this.#node(id) : known.before);
  }

  agentsBefore(sessionNode: string): readonly string[] {
    return this.#reader.agents(this.#workspace, sessionNode);
  }

  putEdge(change: EdgeChange): void {
    this.#put(change);
  }

  nameConcept(concept: Concept, session: string, occurredAt: string): void {
    const id = conceptNodeId(concept);
    this.#change(id, null, (state) => mergeConcept(state, concept));
    this.conceptSources.push({ id, session, occurredAt });
  }

  dropConcept(id: string, session: string): void {
    this.conceptSources.push({ id, session, occurredAt: undefined });
  }

  setDerived(delegation: string, owner: string, properties: Properties): void {
    this.#change(delegation, owner, (state) =>
      mergeDerived(state ?? mergeStub(undefined, owner, ['Delegation', 'SST_EVENT']), {
        labels: [],
        properties,
      }),
    );
  }

  #stored(session: string): readonly ToldFact[] {
    return this.#reader.facts(this.#workspace, session);
  }

  #wrote(owner: string, delegation: string): void {
    const known = this.#delegations.get(owner) ?? new Set<string>();
    this.#delegations.set(owner, known.add(delegation));
  }

  #node(id: string): NodeState | undefined {
    const known = this.nodes.get(id);
    return known === undefined ? this.#reader.node(this.#workspace, id) : known.after;
  }

  #change(
    id: string,
    owner: string | null,
    merge: (state: NodeState | undefined) => NodeState,
  ): void {
    const known = this.nodes.get(id);
    const before = known === undefined ? this.#reader.node(this.#workspace, id) : known.after;
    const after = merge(before);
    if (known === undefined) this.nodes.set(id, { before, after });
    else known.after = after;
    const isNew = before === undefined || before.isWritten !== after.isWritten;
    if (isNew && owner !== null && id === sessionNodeId(owner)) this.#touched.add(owner);
  }

  #ensure(end: EdgeEnd): void {
    const concept = end.owner === null ? conceptOfId(end.id) : undefined;
    this.#change(end.id, end.owner, (state) =>
      concept === undefined
        ? mergeStub(state, end.owner, end.labels)
        : mergeConcept(state, concept),
    );
  }

  #mergeConcept(session: string, mutation: ConceptMutation): void {
    const concept = { kind: mutation.concept, name: mutation.name };
    this.nameConcept(concept, session, mutation.occurredAt);
  }

  #mergeEdge(mutation: EdgeMutation): void {
    const { from, type, to, properties, occurredAt } = mutation;
    this.#ensure(from);
    this.#ensure(to);
    const known = this.edges.get(edgeKey(from.id, type, to.id));
    const state = mergeEdge(known?.state, { properties, occurredAt });
    const isReplaced = known?.isReplaced ?? false;
    this.#put({ from: from.id, type, to: to.id, isReplaced, state });
  }

  #put(change: EdgeChange): void {
    this.edges.set(edgeKey(change.from, change.type, change.to), change);
  }

  #isOwned(session: string, id: string): boolean {
    return this.#node(id)?.owner === session;
  }

  /**
   * A parent is there as soon as a fact names it, whether or not it will be the one that is chosen: otherwise its stub would tell of choices
   * that a group's border happened to show.
   */
  #tell(about: string, told: ToldFact): void {
    const facts = this.#facts.get(about) ?? new Map<string, ToldFact>();
    this.#facts.set(about, facts);
    facts.set(factKey(told), { source: told.source, fact: told.fact });
    this.#touched.add(about);
    this.#tellParent(about, told);
    const parent =
      told.fact.type === 'started' || told.fact.type === 'forked' ? told.fact.parent : null;
    if (parent !== null)
      this.#ensure({ id: sessionNodeId(parent), owner: parent, labels: ['Session'] });
  }

  #tellParent(child: string, { source, fact }: ToldFact): void {
    if (fact.type !== 'spawned' || fact.agent !== selfAgent) return;
    const { parent, delegation, occurredAt } = fact;
    this.#tell(parent, { source, fact: { type: 'delegated', delegation, child, occurredAt } });
  }

  #deriveOne(session: string): void {
    const id = sessionNodeId(session);
    this.#ensure({ id, owner: session, labels: ['Session'] });
    const isWritten = this.#node(id)?.isWritten ?? false;
    const derived = deriveSession(session, this.facts(session), isWritten);
    this.#change(id, session, (state) =>
      mergeDerived(state ?? mergeStub(undefined, session, ['Session']), derived),
    );
    this.#drawParentEdge(id, derived.parentEdge);
  }

  /** Takes away what no longer holds, and leaves alone what stays as it is. */
  #drawParentEdge(id: string, wanted: ParentEdge | undefined): void {
    const from = wanted === undefined ? undefined : sessionNodeId(wanted.parent);
    let isThere = false;
    for (const stored of this.#reader.parentEdges(this.#workspace, id)) {
      const isWanted = stored.from === from && stored.type === wanted?.type;
      if (isWanted && stored.occurredAt === wanted.occurredAt) isThere = true;
      else this.#put({ ...stored, to: id, isReplaced: true, state: undefined });
    }
    if (wanted === undefined || from === undefined || isThere) return;
    const state: EdgeState = { properties: parentEdgeProperties, occurredAt: wanted.occurredAt };
    this.#put({ from, type: wanted.type, to: id, isReplaced: true, state });
  }
}

/** Types that `parentEdges` of a reader is asked for. */
export const derivedEdgeTypes: readonly string[] = parentEdgeTypes;

function sessionTypeOf(node: NodeState | undefined): string | undefined {
  return sessionTypes.find((type) => node?.labels.has(type) === true);
}

const sessionTypes = ['ForkedSession', 'SubSession', 'RootSession'] as const;

function edgeKey(from: string, type: string, to: string): string {
  return `${from}\u0000${type}\u0000${to}`;
}

function factKey({ source, fact }: ToldFact): string {
  return `${source}\u0000${fact.type}`;
}
