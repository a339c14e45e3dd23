import type { EdgeEnd, FactMutation, Mutation, PropertyValue, SessionFact } from '#graph';
import { sessionNodeId } from '#record';

export interface ReferenceNode {
  readonly labels: Set<string>;
  readonly properties: Map<string, PropertyValue>;
}

/**
 * The merge rules of ING-615 and ING-616 in their plainest form, to judge folds by: it knows no transactions, no indexes, and derives the
 * sessions anew each time it is asked.
 */
export class ReferenceGraph {
  readonly #nodes = new Map<string, ReferenceNode>();
  readonly #edges = new Map<string, Map<string, PropertyValue>>();
  readonly #facts = new Map<string, FactMutation>();
  readonly #owned = new Set<string>();

  apply(mutations: readonly Mutation[]): void {
    for (const mutation of mutations) this.#applyOne(mutation);
  }

  #applyOne(mutation: Mutation): void {
    if (mutation.kind === 'node') {
      const node = this.#node(mutation.id, mutation.labels);
      this.#owned.add(mutation.id);
      for (const [name, value] of Object.entries(mutation.properties))
        node.properties.set(name, value);
    } else if (mutation.kind === 'stub') this.#stub(mutation);
    else if (mutation.kind === 'concept') {
      const name = mutation.concept === 'Recipe' ? 'name' : mutation.concept.toLowerCase();
      const id = `${mutation.concept.toLowerCase()}::${mutation.name}`;
      this.#node(id, [mutation.concept, 'SST_CONCEPT']).properties.set(name, mutation.name);
    } else if (mutation.kind === 'fact') {
      this.#facts.set(`${mutation.about}\n${mutation.source}`, mutation);
    } else if (mutation.kind === 'remove-edge') {
      this.#edges.delete(`${mutation.from}\n${mutation.type}\n${mutation.to}`);
    } else {
      this.#edge(
        mutation.from,
        mutation.type,
        mutation.to,
        mutation.properties,
        mutation.occurredAt,
      );
    }
  }

  #stub(end: EdgeEnd | { readonly id: string; readonly labels: readonly string[] }): void {
    if (!this.#nodes.has(end.id)) this.#node(end.id, end.labels);
  }

  #node(id: string, labels: readonly string[]): ReferenceNode {
    const node = this.#nodes.get(id) ?? { labels: new Set(), properties: new Map() };
    for (const label of labels) node.labels.add(label);
    this.#nodes.set(id, node);
    return node;
  }

  #edge(
    from: EdgeEnd,
    type: string,
    to: EdgeEnd,
    properties: Readonly<Record<string, PropertyValue>>,
    occurredAt?: string,
  ): void {
    this.#stub(from);
    this.#stub(to);
    const key = `${from.id}\n${type}\n${to.id}`;
    const merged = this.#edges.get(key) ?? new Map<string, PropertyValue>();
    for (const [name, value] of Object.entries(properties)) merged.set(name, value);
    const before = merged.get('occurred_at') as { $time: string } | undefined;
    if (occurredAt !== undefined && (before === undefined || occurredAt < before.$time))
      merged.set('occurred_at', { $time: occurredAt });
    this.#edges.set(key, merged);
  }

  /** Nodes and edges with the sessions' derived labels, parents and parent edges. */
  read(): {
    readonly nodes: ReadonlyMap<string, ReferenceNode>;
    readonly edges: ReadonlyMap<string, ReadonlyMap<string, PropertyValue>>;
  } {
    const derived = new ReferenceGraph();
    for (const [id, node] of this.#nodes) {
      derived.#nodes.set(id, {
        labels: new Set(node.labels),
        properties: new Map(node.properties),
      });
    }
    for (const [key, properties] of this.#edges) derived.#edges.set(key, new Map(properties));
    for (const about of new Set([...this.#facts.values()].map((fact) => fact.about)))
      this.#derive(derived, about);
    for (const [id, node] of derived.#nodes) {
      if (!node.labels.has('Session') || this.#owned.has(id)) continue;
      node.labels.add('StubSession');
      node.properties.set('session_id', id);
      node.properties.set('status', 'running');
    }
    return { nodes: derived.#nodes, edges: derived.#edges };
  }

  #derive(into: ReferenceGraph, about: string): void {
    const facts = [...this.#facts.values()]
      .filter((fact) => fact.about === about)
      .map(({ fact }) => fact)
      .sort((a, b) => (a.occurredAt < b.occurredAt ? -1 : 1));
    const id = sessionNodeId(about);
    const node = into.#node(id, ['Session']);
    const forks = facts.filter((fact) => fact.type === 'forked');
    const starts = facts.filter((fact) => fact.type === 'started');
    const typing = forks.length > 0 ? forks : starts;
    const parent = parentIn(typing) ?? parentIn(facts);
    if (forks.length > 0) node.labels.add('ForkedSession');
    else if (starts.length > 0) node.labels.add(parent === null ? 'RootSession' : 'SubSession');
    else if (facts.some((fact) => fact.type === 'ended')) node.labels.add('IncompleteSession');
    if (typing.length > 0) node.labels.add('SST_EVENT');
    if (parent !== null) node.properties.set('parent_id', parent);
    const first = typing.find((fact) => parentIn([fact]) !== null);
    if (parent === null || first === undefined) return;
    const type = forks.length > 0 ? 'FORKED' : 'HAS_SUBSESSION';
    const toEnd = (session: string): EdgeEnd => ({
      id: sessionNodeId(session),
      owner: session,
      labels: ['Session'],
    });
    into.#edge(toEnd(parent), type, toEnd(about), { sst_semantic: 'LEADS_TO' }, first.occurredAt);
  }
}

function parentIn(facts: readonly SessionFact[]): string | null {
  for (const fact of facts) if ('parent' in fact && fact.parent !== null) return fact.parent;
  return null;
}
