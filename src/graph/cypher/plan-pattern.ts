import { sessionNodeId } from '#record';
import type { Expression, NodePattern, PathPattern, RelationshipPattern } from './ast.ts';
import { compileCondition, compileExpression, compileLabels } from './compile-expression.ts';
import { equals } from './compare.ts';
import type { Step } from './match-steps.ts';
import type { Evaluate, RelationshipTest, Scope, Source, Test, VariableKind } from './scope.ts';
import type { ShortestPlan } from './shortest-path.ts';
import { CypherMap, isNode, isRelationship } from './values.ts';
import { namesIn } from './walk-tree.ts';

/** What is known while the patterns of one MATCH are planned; it grows with each of them. */
export interface Binding {
  readonly source: Source;
  scope: Scope;
  /** Conditions of WHERE that wait for what they name. */
  conditions: readonly Expression[];
  searches: readonly ShortestPlan[];
}

/** Steps of one path: from the node at which least is to be looked at, outwards on both sides. */
export function planPattern(pattern: PathPattern, binding: Binding): readonly Step[] {
  const { size } = binding.scope;
  const nodes = pattern.nodes.map((node, at) => named(node, ` n${size}.${at}`));
  const relationships = pattern.relationships.map((one, at) => named(one, ` r${size}.${at}`));
  const { variable } = pattern;
  if (variable !== undefined && binding.scope.slotOf(variable) !== undefined)
    throw binding.source.fault(pattern.at, `the variable ${variable} is bound before`);
  if (pattern.search !== 'all') return planSearch({ ...pattern, nodes, relationships }, binding);
  const start = startOf(nodes, binding);
  const steps: Step[] = [planNode(nodes[start], binding)];
  for (let at = start; at < relationships.length; at += 1)
    steps.push(planExpand(nodes, relationships[at], at, 1, binding));
  for (let at = start - 1; at >= 0; at -= 1)
    steps.push(planExpand(nodes, relationships[at], at + 1, -1, binding));
  if (variable !== undefined)
    steps.push(planPath({ variable, at: pattern.at }, nodes, relationships, binding));
  return steps;
}

interface Named {
  readonly name: string;
}

/** Each part has a slot, and a hidden name where the query gives none. */
function named<T extends { readonly variable: string | undefined }>(
  part: T,
  hidden: string,
): T & Named {
  return { ...part, name: part.variable ?? hidden };
}

function startOf(nodes: readonly (NodePattern & Named)[], binding: Binding): number {
  const costs = nodes.map((node) => {
    if (binding.scope.slotOf(node.name) !== undefined) return 0;
    if (idOf(node, binding) !== undefined) return 1;
    return 4 - (node.labels === undefined ? 0 : 2) - (node.properties === undefined ? 0 : 1);
  });
  return costs.indexOf(Math.min(...costs));
}

function planNode(node: (NodePattern & Named) | undefined, binding: Binding): Step {
  if (node === undefined) throw new RangeError('a path has a node');
  const known = binding.scope.slotOf(node.name);
  checkKind(node, 'node', binding);
  if (known !== undefined)
    return {
      kind: 'known',
      slot: known,
      tests: [...nodeTests(node, binding), ...takeConditions(binding)],
    };
  const id = idOf(node, binding);
  const equal = equalTo(node, binding);
  const slot = bind(node.name, 'node', binding);
  // Whatever a scan of one label gives has that label.
  const isLabelKnown = id === undefined && node.labels?.kind === 'name';
  const untested = isLabelKnown ? { ...node, labels: undefined } : node;
  const tests = [...nodeTests(untested, binding), ...takeConditions(binding)];
  if (id !== undefined) return { kind: 'by-id', slot, id, tests };
  return { kind: 'scan', slot, labels: certainLabels(node.labels), equal, tests };
}

/** From the node `at` to its neighbour in this direction along the path. */
function planExpand(
  nodes: readonly (NodePattern & Named)[],
  relationship: (RelationshipPattern & Named) | undefined,
  at: number,
  by: 1 | -1,
  binding: Binding,
): Step {
  const [from, to] = [nodes[at], nodes[at + by]];
  if (relationship === undefined || from === undefined || to === undefined)
    throw new RangeError('a relationship joins two nodes');
  const { direction, length } = relationship;
  const turned = direction === 'out' ? 'in' : direction === 'in' ? 'out' : 'both';
  const fromSlot = binding.scope.slotOf(from.name) ?? 0;
  const knownTo = binding.scope.slotOf(to.name);
  const knownRelationship = binding.scope.slotOf(relationship.name);
  if (length !== undefined && knownRelationship !== undefined)
    throw binding.source.fault(
      relationship.at,
      `the variable ${relationship.name} is bound before`,
    );
  checkKind(relationship, 'relationship', binding);
  const each = relationshipTest(relationship, binding);
  const bound = length === undefined ? 'relationship' : 'relationships';
  const relationshipSlot = knownRelationship ?? bind(relationship.name, bound, binding);
  checkKind(to, 'node', binding);
  const toSlot = knownTo ?? bind(to.name, 'node', binding);
  const tests = [...nodeTests(to, binding), ...whereTests(relationship, binding)];
  return {
    kind: 'expand',
    from: fromSlot,
    to: toSlot,
    isToKnown: knownTo !== undefined,
    relationship: relationshipSlot,
    isRelationshipKnown: knownRelationship !== undefined,
    direction: by === 1 ? direction : turned,
    types: typeNames(relationship.types),
    each,
    length,
    isReversed: by === -1,
    tests: [...tests, ...takeConditions(binding)],
  };
}

function planPath(
  { variable, at }: { readonly variable: string; readonly at: number },
  nodes: readonly Named[],
  relationships: readonly Named[],
  binding: Binding,
): Step {
  const slotOf = ({ name }: Named): number => binding.scope.slotOf(name) ?? 0;
  if (binding.scope.slotOf(variable) !== undefined)
    throw binding.source.fault(at, `the variable ${variable} stands for a part of its own path`);
  const slot = bind(variable, 'path', binding);
  return {
    kind: 'path',
    slot,
    nodes: nodes.map(slotOf),
    relationships: relationships.map(slotOf),
    tests: takeConditions(binding),
  };
}

/** The ends are matched as nodes; the path between them is looked for at the end. */
function planSearch(
  pattern: Omit<PathPattern, 'nodes' | 'relationships'> & {
    readonly nodes: readonly (NodePattern & Named)[];
    readonly relationships: readonly (RelationshipPattern & Named)[];
  },
  binding: Binding,
): readonly Step[] {
  const [from, to] = pattern.nodes;
  const [relationship] = pattern.relationships;
  if (from === undefined || to === undefined || relationship === undefined)
    throw new RangeError('a shortest path has two ends');
  const steps = [planNode(from, binding), planNode(to, binding)];
  const each = relationshipTest(relationship, binding);
  const path = bind(pattern.variable ?? ' path', 'path', binding);
  const list = bind(relationship.name, 'relationships', binding);
  const plan: ShortestPlan = {
    from: binding.scope.slotOf(from.name) ?? 0,
    to: binding.scope.slotOf(to.name) ?? 0,
    path,
    relationships: list,
    direction: relationship.direction,
    types: typeNames(relationship.types),
    each,
    length: relationship.length ?? { min: 1, max: 1 },
    isAll: pattern.search === 'all-shortest',
  };
  binding.searches = [...binding.searches, plan];
  return steps;
}

/** A name that stands for something else already can be no part of this kind. */
function checkKind(
  { variable, at }: { readonly variable: string | undefined; readonly at: number },
  wanted: VariableKind,
  { source, scope }: Binding,
): void {
  const kind = variable === undefined ? undefined : scope.kindOf(variable);
  if (kind === undefined || kind === wanted) return;
  throw source.fault(at, `the variable ${variable} is bound to ${kindWords[kind]} before`);
}

const kindWords: Readonly<Record<VariableKind, string>> = {
  node: 'a node',
  relationship: 'a relationship',
  relationships: 'a list of relationships',
  path: 'a path',
  value: 'a value',
};

function bind(name: string, kind: VariableKind, binding: Binding): number {
  binding.scope = binding.scope.with(name, kind);
  return binding.scope.size - 1;
}

function nodeTests(node: NodePattern & Named, binding: Binding): readonly Test[] {
  const slot = binding.scope.slotOf(node.name) ?? 0;
  const tests: Test[] = [];
  if (node.labels !== undefined) {
    const matches = compileLabels(node.labels);
    tests.push((row) => {
      const value = row[slot] ?? null;
      return isNode(value) && matches(value.labels);
    });
  }
  if (node.properties !== undefined) {
    const same = propertyTest(node.properties, binding);
    tests.push((row, run) => {
      const value = row[slot] ?? null;
      return isNode(value) && same(value.properties, row, run);
    });
  }
  return [...tests, ...whereTests(node, binding)];
}

function whereTests(
  { where }: { readonly where: Expression | undefined },
  { source, scope }: Binding,
): readonly Test[] {
  return where === undefined ? [] : [compileCondition(where, { source, scope })];
}

/** What every relationship of the pattern must be: type by expression, and properties. */
function relationshipTest(
  { types, properties }: RelationshipPattern,
  binding: Binding,
): RelationshipTest {
  const matches = types === undefined ? undefined : compileLabels(types);
  const same = properties === undefined ? undefined : propertyTest(properties, binding);
  return (value, row, run) =>
    isRelationship(value) &&
    (matches === undefined || matches([value.type])) &&
    (same === undefined || same(value.properties, row, run));
}

function propertyTest(
  properties: Expression,
  { source, scope }: Binding,
): (of: CypherMap, ...at: Parameters<Evaluate>) => boolean {
  const wanted = compileExpression(properties, { source, scope });
  return (of, row, run) => {
    const map = wanted(row, run);
    if (!(map instanceof CypherMap))
      throw source.fault(properties.at, 'properties of a pattern are a map');
    return [...map.entries].every(([key, value]) => equals(of.get(key), value) === true);
  };
}

/** `(n {node_id: …})`, `(s:Session {session_id: …})`, or the same in WHERE: one look at an index instead of a scan. */
function idOf(node: NodePattern & Named, binding: Binding): Evaluate | undefined {
  const isSession = certainLabels(node.labels).includes('Session');
  const members = isSession ? ['node_id', 'session_id'] : ['node_id'];
  for (const member of members) {
    const expression = inlineMember(node, member) ?? comparedMember(node.name, member, binding);
    if (expression === undefined || !isReady(expression, binding)) continue;
    const value = compileExpression(expression, { source: binding.source, scope: binding.scope });
    if (member === 'node_id') return value;
    return (row, run) => {
      const session = value(row, run);
      return typeof session === 'string' ? sessionNodeId(session) : null;
    };
  }
  return undefined;
}

/** Properties that must equal what is known before the node is, inline or in WHERE. */
function equalTo(
  node: NodePattern & Named,
  binding: Binding,
): readonly { readonly property: string; readonly value: Evaluate }[] {
  const inline = node.properties?.kind === 'map' ? node.properties.entries : [];
  const compared = binding.conditions.flatMap((condition) => {
    if (condition.kind !== 'binary' || condition.operator !== '=') return [];
    const { left, right } = condition;
    const [key, value] = memberOf(left, node.name) === undefined ? [right, left] : [left, right];
    const property = memberOf(key, node.name);
    return property === undefined ? [] : [{ key: property, value }];
  });
  return [...inline, ...compared]
    .filter(({ value }) => isPlain(value) && isReady(value, binding))
    .map(({ key, value }) => ({
      property: key,
      value: compileExpression(value, { source: binding.source, scope: binding.scope }),
    }));
}

/** What is worked out without a fault, so that a query fails as it would without a look ahead. */
function isPlain({ kind }: Expression): boolean {
  return kind === 'string' || kind === 'parameter' || kind === 'variable';
}

function memberOf(part: Expression, name: string): string | undefined {
  const isMember = part.kind === 'property' && part.of.kind === 'variable' && part.of.name === name;
  return isMember ? part.name : undefined;
}

function inlineMember({ properties }: NodePattern, member: string): Expression | undefined {
  if (properties?.kind !== 'map') return undefined;
  return properties.entries.find(({ key }) => key === member)?.value;
}

function comparedMember(
  name: string,
  member: string,
  { conditions }: Binding,
): Expression | undefined {
  const isMember = (part: Expression): boolean => memberOf(part, name) === member;
  for (const condition of conditions) {
    if (condition.kind !== 'binary' || condition.operator !== '=') continue;
    if (isMember(condition.left)) return condition.right;
    if (isMember(condition.right)) return condition.left;
  }
  return undefined;
}

/** Takes the conditions out that can be answered with what is bound. */
function takeConditions(binding: Binding): readonly Test[] {
  const { source, scope } = binding;
  const ready = binding.conditions.filter((condition) => isReady(condition, binding));
  binding.conditions = binding.conditions.filter((condition) => !ready.includes(condition));
  return ready.map((condition) => compileCondition(condition, { source, scope }));
}

function isReady(expression: Expression, { scope }: Binding): boolean {
  return [...namesIn(expression)].every((name) => scope.slotOf(name) !== undefined);
}

/** Labels that a node must have whatever else it has. */
function certainLabels(labels: NodePattern['labels']): readonly string[] {
  if (labels?.kind === 'name') return [labels.name];
  if (labels?.kind === 'and')
    return [...certainLabels(labels.left), ...certainLabels(labels.right)];
  return [];
}

/** The types that alone come into question; undefined where any may. */
function typeNames(types: RelationshipPattern['types']): readonly string[] | undefined {
  if (types?.kind === 'name') return [types.name];
  if (types?.kind !== 'or') return undefined;
  const [left, right] = [typeNames(types.left), typeNames(types.right)];
  return left === undefined || right === undefined ? undefined : [...left, ...right];
}
