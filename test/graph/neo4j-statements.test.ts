import * as fc from 'fast-check';
import { Neo4jError } from 'neo4j-driver';
import { describe, expect, it } from 'vitest';
import { isMillraceError } from '#base';
import type { PropertyValue } from '#graph';
import { classifyNeo4jError } from '../../src/graph/neo4j/classify.ts';
import { edgeKey, inBatches, statementsFor } from '../../src/graph/neo4j/cypher.ts';
import {
  edgeForm,
  edgeState,
  formDifference,
  nodeForm,
  nodeState,
} from '../../src/graph/neo4j/stored-form.ts';
import { fromNative, timeOf, toDateTime, toNative } from '../../src/graph/neo4j/values.ts';
import type { EdgeChange, GroupChanges, NodeChange } from '../../src/graph/group-changes.ts';
import type { EdgeState, NodeState } from '../../src/graph/node-state.ts';

const times = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .chain((date) =>
    fc
      .integer({ min: 0, max: 999_999_999 })
      .map((nano) => `${date.toISOString().slice(0, 19)}.${String(nano).padStart(9, '0')}Z`),
  );
const scalars = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\ud800', 'a\u0000b', '{"$time":"x"}'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  fc.integer(),
  fc.constantFrom(2 ** 53, 2 ** 63, -(2 ** 63), 1e300),
  fc.boolean(),
);
const values: fc.Arbitrary<PropertyValue> = fc.oneof(
  scalars,
  times.map((time) => ({ $time: time })),
  fc.constant({ $time: 'no time' }),
  fc.array(scalars),
  fc.array(fc.string()),
  fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0)),
);
const names = fc.oneof(
  fc.string(),
  fc.constantFrom(
    'node_id',
    'workspace',
    '_millrace',
    '__proto__',
    'occurred_at',
    'session_id',
    '',
    'a\u0000',
  ),
);
const properties = fc.dictionary(names, values, { noNullPrototype: true, maxKeys: 6 });
const labels = fc.dictionary(
  fc.constantFrom('Session', 'Prompt', 'Node', '__proto__'),
  fc.integer({ min: 1, max: 15 }),
  { noNullPrototype: true },
);
const states: fc.Arbitrary<NodeState> = fc.record({
  owner: fc.oneof(fc.constantFrom('s', 't', 's::1'), fc.constant(null)),
  isWritten: fc.boolean(),
  labels: labels.map((entries) => new Map(Object.entries(entries))),
  properties,
  derived: properties,
});

function plain(state: NodeState): unknown {
  return { ...state, labels: Object.fromEntries(state.labels) };
}

/** What the server answers for what it was given: labels once each, and the label of all nodes. */
function stored(id: string, state: NodeState): NodeState {
  const form = nodeForm(id, state);
  return nodeState(id, [...new Set(['Node', ...form.labels])], form.properties);
}

describe('what lies in Neo4j', () => {
  it('gives every state of a node back as it was (P12, ING-615)', () => {
    fc.assert(
      fc.property(states, fc.constantFrom('s', 's::a', 't::s'), (state, id) => {
        expect(plain(stored(id, state))).toEqual(plain(state));
      }),
      { numRuns: 500 },
    );
  });

  it('gives every state of an edge back as it was', () => {
    const edges: fc.Arbitrary<EdgeState> = fc.record({
      properties,
      occurredAt: fc.option(fc.oneof(times, fc.constant('never')), { nil: undefined }),
    });
    fc.assert(
      fc.property(edges, (state) => {
        expect(edgeState(edgeForm(state))).toEqual(state);
      }),
      { numRuns: 300 },
    );
  });

  it('keeps a node that its owner wrote without anything hidden', () => {
    const state: NodeState = {
      owner: 's',
      isWritten: true,
      labels: new Map([['Prompt', 2]]),
      properties: { text: 'x', at: { $time: '2026-01-01T00:00:00.000000001Z' } },
      derived: {},
    };
    expect(Object.keys(nodeForm('s::1', state).properties)).toEqual(['text', 'at']);
  });

  it('writes of a changed node what makes one state into the other, and nothing where they are the same', () => {
    fc.assert(
      fc.property(states, states, (before, after) => {
        const [from, to] = [nodeForm('s', before), nodeForm('s', after)];
        const difference = formDifference(from, to);
        const made: Record<string, unknown> = { ...from.properties };
        for (const [name, value] of Object.entries(difference?.set ?? {})) {
          if (value === null) delete made[name];
          else made[name] = value;
        }
        const kept = from.labels.filter((label) => difference?.drop.includes(label) !== true);
        expect(plain(nodeState('s', [...kept, ...(difference?.add ?? [])], made))).toEqual(
          plain(nodeState('s', to.labels, to.properties)),
        );
      }),
    );
    const one = nodeForm('s', state('x'));
    expect(formDifference(one, nodeForm('s', state('x')))).toBeUndefined();
  });

  it('takes whole numbers for integers, and refuses a list of several types', () => {
    expect(toNative(3)).toBe(3n);
    expect(toNative(0.5)).toBe(0.5);
    expect(toNative([1, 2])).toEqual([1n, 2n]);
    expect(toNative([1, 2.5])).toEqual([1, 2.5]);
    expect(toNative(['a', 1])).toBeUndefined();
    expect(toNative(2 ** 63)).toBe(2 ** 63);
    expect(fromNative(2n ** 60n)).toBe(2 ** 60);
  });

  it('keeps times to the nanosecond, and what is none as text', () => {
    fc.assert(
      fc.property(times, (text) => {
        const time = toDateTime(text);
        expect(time === undefined ? undefined : timeOf(time)).toBe(text);
      }),
    );
    for (const text of ['2026-02-30T00:00:00.000000000Z', '2026-01-01T00:00:00Z', ''])
      expect(toDateTime(text)).toBeUndefined();
  });
});

function state(text: string): NodeState {
  return {
    owner: 's',
    isWritten: true,
    labels: new Map([['Prompt', 2]]),
    properties: { text },
    derived: {},
  };
}

function changesOf(
  nodes: readonly (readonly [string, NodeChange])[],
  edges: readonly EdgeChange[] = [],
): GroupChanges {
  return {
    nodes: new Map(nodes),
    edges: new Map(edges.map((edge) => [edgeKey('w', edge), edge])),
    factChanges: [],
    conceptSources: [],
  };
}

function drawn(from: string, to: string, occurredAt?: string): EdgeChange {
  const drawnState = { properties: {}, occurredAt };
  return { from, type: 'NEXT', to, isReplaced: false, state: drawnState };
}

const rowsOf = (statement: { readonly parameters: Readonly<Record<string, unknown>> }) =>
  statement.parameters['rows'] as readonly Readonly<Record<string, unknown>>[];

describe('statements of a group', () => {
  it('writes nodes before edges, in the order of their ids (ING-853)', () => {
    const fresh = (id: string) => [id, { before: undefined, after: state(id) }] as const;
    const changes = changesOf([fresh('s::b'), fresh('s::a')], [drawn('s::b', 's::a')]);
    const statements = statementsFor('w', changes, new Map());
    expect(statements.map(({ text }) => /CREATE \((\w)/.exec(text)?.[1])).toEqual(['n', 'a']);
    expect(rowsOf(statements[0] ?? { parameters: {} }).map(({ id }) => id)).toEqual([
      's::a',
      's::b',
    ]);
  });

  it('lets no value of a record into the text of a statement', () => {
    const evil = "x' }) DETACH DELETE n //";
    const nodes = [[evil, { before: undefined, after: { ...state(evil), owner: evil } }]] as const;
    const changes: GroupChanges = {
      ...changesOf(nodes, [drawn(evil, evil)]),
      factChanges: [{ about: evil, source: evil, fact: { type: 'seen', occurredAt: evil } }],
      conceptSources: [{ id: evil, session: evil, occurredAt: evil }],
    };
    for (const { text } of statementsFor(evil, changes, new Map()))
      expect(text).not.toContain('DETACH DELETE n //');
  });

  it('writes nothing for a node and an edge that stay as they are, so that a replay is cheap', () => {
    const same = state('x');
    const again = { ...state('x'), properties: { text: 'x' } };
    const nodes = [
      ['s::a', { before: same, after: same }],
      ['s::b', { before: same, after: again }],
    ] as const;
    const edge = drawn('s::a', 's::b', '2026-01-01T00:00:02.000000000Z');
    const earlier = { properties: {}, occurredAt: '2026-01-01T00:00:01.000000000Z' };
    const known = new Map([[edgeKey('w', edge), earlier]]);
    expect(statementsFor('w', changesOf(nodes, [edge]), known)).toEqual([]);
  });

  it('takes an edge that is replaced away before it is drawn anew', () => {
    const change = { ...drawn('s::a', 's::b'), isReplaced: true };
    const statements = statementsFor('w', changesOf([], [change]), new Map());
    expect(statements.map(({ text }) => /DELETE e|CREATE/.exec(text)?.[0])).toEqual([
      'DELETE e',
      'CREATE',
    ]);
  });

  it('cuts rows by number and by bytes, and never splits one (ING-853)', () => {
    const rows = ['aaaa', 'b'.repeat(500), 'c', 'd', 'e'].map((text) => ({ text }));
    const cut = inBatches(rows, { rows: 2, bytes: 400 });
    expect(cut.flat()).toEqual(rows);
    expect(cut.map((batch) => batch.length)).toEqual([1, 1, 2, 1]);
    expect(inBatches([])).toEqual([]);
  });
});

describe('errors of Neo4j', () => {
  const codes: readonly (readonly [string, string | undefined])[] = [
    ['ServiceUnavailable', 'GRAPH_UNAVAILABLE'],
    ['SessionExpired', 'GRAPH_UNAVAILABLE'],
    ['Neo.TransientError.Transaction.DeadlockDetected', 'GRAPH_CONFLICT'],
    ['Neo.TransientError.General.MemoryPoolOutOfMemoryError', 'GRAPH_UNAVAILABLE'],
    ['Neo.ClientError.Schema.ConstraintValidationFailed', 'GRAPH_CONFLICT'],
    ['Neo.ClientError.Security.Unauthorized', 'GRAPH_DENIED'],
    ['Neo.ClientError.Security.TokenExpired', 'GRAPH_UNAVAILABLE'],
    ['Neo.ClientError.Database.DatabaseNotFound', 'GRAPH_UNAVAILABLE'],
    ['Neo.ClientError.General.ForbiddenOnReadOnlyDatabase', 'GRAPH_DENIED'],
    ['Neo.ClientError.Cluster.NotALeader', 'GRAPH_UNAVAILABLE'],
    ['Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration', 'GRAPH_UNAVAILABLE'],
    ['Neo.DatabaseError.General.UnknownError', 'GRAPH_UNAVAILABLE'],
    ['Neo.ClientError.Statement.TypeError', undefined],
  ];

  it('are ours by their code: an outage of any kind waits, and only what nobody knows is looked into (ING-536)', () => {
    for (const [code, expected] of codes) {
      const error = new Neo4jError('told\nmore', code, '', '');
      const ours = classifyNeo4jError(error, 'Neo4j at bolt://x unreachable since then');
      expect(ours?.code, code).toBe(expected);
      if (isMillraceError(ours)) expect(ours.disposition).toBe('retry');
    }
    expect(classifyNeo4jError(new Error('ServiceUnavailable'), '')).toBeUndefined();
  });
});
