/**
 * The mutation algebra: plain values that a fold returns and that reach a store through `apply` alone (ING-850).
 *
 * Confluence (D25, ING-614…616) is built into the shapes: a node belongs to one session and only that session's key writes its labels and
 * properties, in log order; everybody may ensure a stub, name a concept, draw an edge whose merge commutes, or leave a hidden fact from which the
 * store derives values. So no store ever needs to know which key came first.
 */
export type PropertyValue =
  | string
  | number
  | boolean
  | { readonly $time: string }
  | readonly (string | number | boolean)[];
/** `$time` is an RFC 3339 UTC text with exactly nine fraction digits (D26); stores keep it as a time. Null is never a value: left out, it erases nothing. */
export type Properties = Readonly<Record<string, PropertyValue>>;

/**
 * Writes a node of the record's own session: labels are united, properties patched, later record wins. The owner's first write takes the place
 * of what stubs said of the labels, so it makes no difference which came first.
 */
export interface NodeMutation {
  readonly kind: 'node';
  readonly owner: string;
  readonly id: string;
  readonly labels: readonly string[];
  readonly properties: Properties;
  /** Labels and properties that no longer hold; removed before the others are added. */
  readonly drop?: { readonly labels?: readonly string[]; readonly properties?: readonly string[] };
}

/**
 * Makes sure that a node exists, with the labels of its kind and no property (ING-612, ING-615); stubs unite, and do nothing once the owner
 * wrote. A session that is only a stub gets `session_id`, `status` and StubSession from the derivation.
 */
export interface StubMutation {
  readonly kind: 'stub';
  readonly owner: string;
  readonly id: string;
  readonly labels: readonly string[];
}

/**
 * A shared concept, node `recipe::NAME` and so on: it has nothing but its name and, hidden, the earliest time at which each session named it. Agents
 * are named by the derivation alone, which may take its word back (ING-616).
 */
export interface ConceptMutation {
  readonly kind: 'concept';
  readonly concept: 'Orchestrator' | 'Recipe';
  readonly name: string;
  readonly occurredAt: string;
}

/**
 * One edge per (from, type, to). Properties are constants of the type; `occurredAt` merges to the earliest. Missing ends become stubs, a
 * concept whole. FORKED and HAS_SUBSESSION belong to the derivation and are never drawn by a fold.
 */
export interface EdgeMutation {
  readonly kind: 'edge';
  readonly from: EdgeEnd;
  readonly type: string;
  readonly to: EdgeEnd;
  readonly properties: Properties;
  readonly occurredAt?: string;
}

export interface EdgeEnd {
  readonly id: string;
  /** Session that owns the node; null for a shared concept. */
  readonly owner: string | null;
  /** Labels of its kind, for the stub when the node is not there. */
  readonly labels: readonly string[];
}

/** Takes an edge away again; only between nodes of the record's own session, else it does nothing (ING-607). */
export interface EdgeRemoval {
  readonly kind: 'remove-edge';
  readonly from: string;
  readonly type: string;
  readonly to: string;
}

/**
 * What a record tells about a session, hidden from queries and export. The store derives session labels, parent edges and the like from
 * all facts about a session, again whenever one of them changes. One fact per (about, source, type): writing it again replaces it.
 */
export interface FactMutation {
  readonly kind: 'fact';
  /** The session that the fact is about. */
  readonly about: string;
  /** Id of the Event node that tells it: one writer each. */
  readonly source: string;
  readonly fact: SessionFact;
}

export type SessionFact =
  /** `session:start` in the session's own stream. `parent` is a session id as the client named it, here and below. */
  | { readonly type: 'started'; readonly parent: string | null; readonly occurredAt: string }
  /** `session:fork`, told by the child (first shape) or by the parent's stream (second shape). */
  | {
      readonly type: 'forked';
      readonly parent: string | null;
      readonly occurredAt: string;
      readonly toldBy: 'child' | 'parent';
      readonly agent?: string;
    }
  /** `session:end`: marks the session incomplete while nothing started it; its parent counts when no other fact names one, and draws no edge. */
  | { readonly type: 'ended'; readonly parent: string | null; readonly occurredAt: string }
  /** Any own event. Changes nothing by itself: a session is a stub until its owner writes its node. */
  | { readonly type: 'seen'; readonly occurredAt: string }
  /** A spawn in another stream names this session as its child (delegations). */
  | {
      readonly type: 'spawned';
      readonly parent: string;
      readonly delegation: string;
      readonly agent: string;
      readonly occurredAt: string;
    }
  /** This session delegates to itself; the merge adds it to the `spawned` of the child, so that the child is found when the session's agent changes. */
  | {
      readonly type: 'delegated';
      readonly delegation: string;
      readonly child: string;
      readonly occurredAt: string;
    }
  /** What another stream tells of a delegation that this session owns. Of each phase the latest word counts, and none where the owner told one. */
  | {
      readonly type: 'delegation';
      readonly delegation: string;
      readonly phase: 'spawn' | 'lifecycle';
      readonly properties: Properties;
      readonly occurredAt: string;
    };

export type Mutation =
  | NodeMutation
  | StubMutation
  | ConceptMutation
  | EdgeMutation
  | EdgeRemoval
  | FactMutation;
