import type { Evaluate, RelationshipTest, Row, Run, Test } from './scope.ts';
import {
  isList,
  isNode,
  isRelationship,
  PathValue,
  type NodeValue,
  type RelationshipValue,
  type Value,
} from './values.ts';
import type { Direction, WantedText } from './view.ts';

/** One step of a match: binds what it finds, and goes on with what passes its tests. */
export type Step = { readonly tests: readonly Test[] } & (
  | { readonly kind: 'known'; readonly slot: number }
  | { readonly kind: 'by-id'; readonly slot: number; readonly id: Evaluate }
  | {
      readonly kind: 'scan';
      readonly slot: number;
      readonly labels: readonly string[];
      /** Conditions that a store may look at by itself; they stand among the tests too. */
      readonly equal: readonly { readonly property: string; readonly value: Evaluate }[];
    }
  | ExpandStep
  | {
      readonly kind: 'path';
      readonly slot: number;
      readonly nodes: readonly number[];
      readonly relationships: readonly number[];
    }
);

interface ExpandStep {
  readonly kind: 'expand';
  readonly tests: readonly Test[];
  readonly from: number;
  readonly to: number;
  readonly isToKnown: boolean;
  readonly relationship: number;
  readonly isRelationshipKnown: boolean;
  readonly direction: Direction;
  readonly types: readonly string[] | undefined;
  readonly each: RelationshipTest;
  /** Given for a path of several relationships, which is bound as their list. */
  readonly length: { readonly min: number; readonly max: number } | undefined;
  /** The path is walked against the order in which it was written. */
  readonly isReversed: boolean;
}

/** All rows that the steps make of one; a relationship stands in each of them at most once (trails, as in Neo4j). */
export function* runSteps(steps: readonly Step[], row: Row, run: Run): Generator<Row> {
  yield* walk({ steps, run, used: new Set() }, 0, row);
}

interface Walk {
  readonly steps: readonly Step[];
  readonly run: Run;
  readonly used: Set<string>;
}

function* walk(state: Walk, at: number, row: Row): Generator<Row> {
  const step = state.steps[at];
  if (step === undefined) {
    yield row;
    return;
  }
  const { run } = state;
  if (step.kind === 'expand') {
    yield* expand(state, at, step, row);
    return;
  }
  const isLast = at + 1 === state.steps.length;
  for (const next of rowsOf(step, row, run)) {
    run.budget.tick();
    if (!passes(step.tests, next, run)) continue;
    // A generator for each row is what most of the time would go into.
    if (isLast) yield next;
    else yield* walk(state, at + 1, next);
  }
}

function passes(tests: readonly Test[], row: Row, run: Run): boolean {
  for (const test of tests) if (!test(row, run)) return false;
  return true;
}

function* rowsOf(
  step: Exclude<Step, { readonly kind: 'expand' }>,
  row: Row,
  run: Run,
): Generator<Row> {
  switch (step.kind) {
    case 'known':
      if (isNode(row[step.slot] ?? null)) yield row;
      break;
    case 'by-id': {
      const id = step.id(row, run);
      if (typeof id !== 'string') return;
      for (const node of run.view.nodesById(id)) yield withValue(row, step.slot, node);
      break;
    }
    case 'scan':
      for (const node of run.view.nodes(rarest(step.labels, run), wantedText(step, row, run)))
        yield withValue(row, step.slot, node);
      break;
    case 'path':
      yield withValue(row, step.slot, pathOf(step.nodes, step.relationships, row));
      break;
  }
}

/** The first condition on a text: others compare in ways that only the evaluator knows. */
function wantedText(
  { equal }: Extract<Step, { readonly kind: 'scan' }>,
  row: Row,
  run: Run,
): WantedText | undefined {
  for (const { property, value } of equal) {
    const text = value(row, run);
    if (typeof text === 'string' && text.isWellFormed())
      return { property, text, passed: (nodes) => run.budget.tick(nodes) };
  }
  return undefined;
}

function rarest(labels: readonly string[], { view }: Run): string | undefined {
  if (labels.length < 2) return labels[0];
  const counts = labels.map((label) => view.countNodes(label));
  return labels[counts.indexOf(Math.min(...counts))];
}

function* expand(state: Walk, at: number, step: ExpandStep, row: Row): Generator<Row> {
  const from = row[step.from] ?? null;
  if (!isNode(from)) return;
  if (step.length === undefined) {
    yield* expandOne(state, at, step, row, from);
    return;
  }
  yield* expandMany(state, at, { step, length: step.length }, row, { node: from, trail: [] });
}

function* expandOne(
  state: Walk,
  at: number,
  step: ExpandStep,
  row: Row,
  from: NodeValue,
): Generator<Row> {
  const { run, used } = state;
  const known = step.isRelationshipKnown ? (row[step.relationship] ?? null) : undefined;
  if (known === null) return;
  const isLast = at + 1 === state.steps.length;
  for (const { relationship, node } of run.view.neighbours(from, step.direction, step.types)) {
    run.budget.tick();
    if (used.has(relationship.key)) continue;
    if (known !== undefined && !(isRelationship(known) && known.key === relationship.key)) continue;
    if (!step.each(relationship, row, run) || !isWanted(step, row, node)) continue;
    const next = withValue(withValue(row, step.relationship, relationship), step.to, node);
    if (!passes(step.tests, next, run)) continue;
    if (isLast) {
      yield next;
      continue;
    }
    used.add(relationship.key);
    yield* walk(state, at + 1, next);
    used.delete(relationship.key);
  }
}

interface Trail {
  readonly node: NodeValue;
  readonly trail: readonly RelationshipValue[];
}

function* expandMany(
  state: Walk,
  at: number,
  given: {
    readonly step: ExpandStep;
    readonly length: { readonly min: number; readonly max: number };
  },
  row: Row,
  { node, trail }: Trail,
): Generator<Row> {
  const { run, used } = state;
  const { step, length } = given;
  if (trail.length >= length.min && isWanted(step, row, node)) {
    const list = step.isReversed ? trail.toReversed() : trail;
    const next = withValue(withValue(row, step.relationship, list), step.to, node);
    if (step.tests.every((test) => test(next, run))) yield* walk(state, at + 1, next);
  }
  if (trail.length >= length.max) return;
  for (const found of run.view.neighbours(node, step.direction, step.types)) {
    run.budget.tick();
    const { relationship } = found;
    if (used.has(relationship.key) || !step.each(relationship, row, run)) continue;
    used.add(relationship.key);
    yield* expandMany(state, at, given, row, { node: found.node, trail: [...trail, relationship] });
    used.delete(relationship.key);
  }
}

/** Where the other end is known, only it will do. */
function isWanted(step: ExpandStep, row: Row, node: NodeValue): boolean {
  if (!step.isToKnown) return true;
  const wanted = row[step.to] ?? null;
  return isNode(wanted) && wanted.nid === node.nid;
}

function withValue(row: Row, slot: number, value: Value): Row {
  const next = row.slice();
  next[slot] = value;
  return next;
}

/** A path out of what its parts were bound to; a part of several relationships is their list. */
export function pathOf(
  nodeSlots: readonly number[],
  relationshipSlots: readonly number[],
  row: Row,
): Value {
  const first = row[nodeSlots[0] ?? 0] ?? null;
  if (!isNode(first)) return null;
  const nodes: NodeValue[] = [first];
  const relationships: RelationshipValue[] = [];
  for (const slot of relationshipSlots) {
    const value = row[slot] ?? null;
    for (const one of isList(value) ? value : [value]) {
      if (!isRelationship(one)) return null;
      const last = nodes.at(-1);
      relationships.push(one);
      nodes.push(one.from.nid === last?.nid ? one.to : one.from);
    }
  }
  return new PathValue(nodes, relationships);
}
