import * as fc from 'fast-check';
import type { GroupPart, Mutation, SessionFact } from '#graph';
import type { Key } from '#record';
import { fact, part, time } from '../contract/graph/harness.ts';

const sessions = ['a', 'b', 'c'] as const;
const workspaces = ['w', 'v'] as const;
const labels = ['Prompt', 'Iteration', 'SST_EVENT', 'Guess'] as const;

const session = fc.constantFrom(...sessions);
const second = fc.integer({ min: 0, max: 9 });
const someLabels = fc.subarray([...labels]);
const nodeId = fc.tuple(session, fc.constantFrom('', '::1', '::2')).map(([owner, rest]) => ({
  owner,
  id: `${owner}${rest}`,
}));

function factBy(teller: string): fc.Arbitrary<Mutation> {
  const parent = fc.option(fc.constantFrom(...sessions, 'far'), { nil: null });
  const own: fc.Arbitrary<SessionFact> = fc.oneof(
    fc.record({ type: fc.constant('started'), parent, occurredAt: second.map(time) }),
    fc.record({ type: fc.constant('ended'), parent, occurredAt: second.map(time) }),
    fc.record({
      type: fc.constant('forked'),
      parent,
      occurredAt: second.map(time),
      toldBy: fc.constant('child'),
    }),
    fc.record({ type: fc.constant('seen'), occurredAt: second.map(time) }),
  ) as fc.Arbitrary<SessionFact>;
  const foreign: fc.Arbitrary<SessionFact> = fc.oneof(
    fc.record({
      type: fc.constant('forked'),
      parent: fc.constant(teller),
      occurredAt: second.map(time),
      toldBy: fc.constant('parent'),
      agent: fc.constantFrom('x', 'y'),
    }),
    fc.record({
      type: fc.constant('delegation'),
      delegation: fc.constantFrom('d1', 'd2'),
      phase: fc.constantFrom('spawn', 'lifecycle'),
      properties: fc.record({ error: fc.constantFrom('x', 'y') }),
      occurredAt: second.map(time),
    }),
  ) as fc.Arbitrary<SessionFact>;
  const event = fc.integer({ min: 0, max: 3 }).map((at) => `${teller}__e__${at}`);
  // An event spawns one child, whatever it says of it.
  const spawned = fc
    .record({
      child: session,
      number: fc.integer({ min: 1, max: 2 }),
      agent: fc.constantFrom('x', 'y', 'self', 'self'),
      occurredAt: second.map(time),
    })
    .map(({ child, number, agent, occurredAt }) => {
      const delegation = `${teller}::d${number}`;
      const told: SessionFact = { type: 'spawned', parent: teller, delegation, agent, occurredAt };
      return fact(child, `${teller}__s__${child}__${number}`, told);
    });
  return fc.oneof(
    fc.tuple(event, own).map(([source, told]) => fact(teller, source, told)),
    fc.tuple(session, event, foreign).map(([about, source, told]) => {
      if (told.type !== 'delegation') return fact(about, source, told);
      // An event tells of one delegation, whatever it says of it.
      const delegation = `${about}::${told.delegation}`;
      const event = `${teller}__${told.phase}__${delegation}`;
      return fact(about, event, { ...told, delegation });
    }),
    spawned,
  );
}

/** What the owner of a delegation writes of it. */
function delegationBy(owner: string): fc.Arbitrary<Mutation> {
  return fc
    .record({
      number: fc.integer({ min: 1, max: 2 }),
      member: fc.constantFrom('started_at', 'ended_at', 'resumed_at'),
      at: second.map(time),
    })
    .map(({ number, member, at }): Mutation => ({
      kind: 'node',
      owner,
      id: `${owner}::d${number}`,
      labels: ['Delegation', 'SST_EVENT'],
      properties: { [member]: { $time: at } },
    }));
}

/** Whatever a fold of this session may say: its own nodes at will, those of others as stubs, edges, facts, concepts. */
function mutationBy(owner: string): fc.Arbitrary<Mutation> {
  const ownId = fc.constantFrom(owner, `${owner}::1`, `${owner}::2`);
  const end = fc.tuple(nodeId, someLabels).map(([node, names]) => ({ ...node, labels: names }));
  const conceptEnd = fc
    .constantFrom('recipe::x', 'orchestrator::x')
    .map((id) => ({ id, owner: null, labels: [] }));
  return fc.oneof(
    fc.record({
      kind: fc.constant('node' as const),
      owner: fc.constant(owner),
      id: ownId,
      labels: someLabels,
      properties: fc.dictionary(fc.constantFrom('p', 'q', 'agent'), fc.integer({ max: 3, min: 0 })),
      drop: fc.record({ labels: someLabels, properties: fc.subarray(['p', 'q']) }),
    }),
    end.map((stub): Mutation => ({ kind: 'stub', ...stub })),
    fc.record({
      kind: fc.constant('concept' as const),
      concept: fc.constantFrom('Recipe' as const, 'Orchestrator' as const),
      name: fc.constantFrom('x', 'y'),
      occurredAt: second.map(time),
    }),
    fc
      .record({
        kind: fc.constant('edge' as const),
        from: end,
        type: fc.constantFrom('NEXT', 'CAUSED'),
        to: fc.oneof(end, conceptEnd),
        properties: fc.constantFrom<{ sst_semantic?: string }>({}, { sst_semantic: 'NEAR' }),
        occurredAt: second.map(time),
      })
      .filter((edge) => edge.from.owner !== edge.to.owner || edge.from.owner === owner),
    fc.record({
      kind: fc.constant('remove-edge' as const),
      from: ownId,
      type: fc.constantFrom('NEXT', 'CAUSED'),
      to: ownId,
    }),
    factBy(owner),
    delegationBy(owner),
  );
}

/** A log for each of a few keys, in two workspaces. */
export const logs: fc.Arbitrary<readonly GroupPart[]> = fc
  .tuple(
    ...workspaces.flatMap((workspace) =>
      sessions.map((owner) =>
        fc
          .array(fc.array(mutationBy(owner), { maxLength: 4 }), { maxLength: 5 })
          .map((records) => part(owner, records, { workspace })),
      ),
    ),
  )
  .map((parts) => parts.filter(({ steps }) => steps.length > 0));

/** One move of a drain: apply up to `count` more records of some keys in one group, or send what was applied again. */
export interface Move {
  readonly picks: readonly { readonly key: number; readonly count: number }[];
  /** Records before the next one that are sent again at the head. */
  readonly resent: number;
}

export const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.record({
    picks: fc.array(
      fc.record({ key: fc.integer({ min: 0, max: 5 }), count: fc.integer({ min: 1, max: 4 }) }),
      { minLength: 1, maxLength: 4 },
    ),
    resent: fc.integer({ min: 0, max: 2 }),
  }),
  { maxLength: 12 },
);

/** The groups that these moves make of the logs, each key in its own order, and at last whatever was left. */
export function schedule(
  all: readonly GroupPart[],
  taken: readonly Move[],
): readonly (readonly GroupPart[])[] {
  const next = new Map<Key, number>(all.map(({ key }) => [key, 0]));
  const cut = (one: GroupPart, count: number, resent: number): GroupPart => {
    const at = next.get(one.key) ?? 0;
    next.set(one.key, Math.min(one.steps.length, at + count));
    return { ...one, steps: one.steps.slice(Math.max(0, at - resent), at + count) };
  };
  const groups = taken.map(({ picks, resent }) =>
    picks.flatMap(({ key, count }) => {
      const one = all[key % Math.max(1, all.length)];
      return one === undefined ? [] : [cut(one, count, resent)];
    }),
  );
  const rest = all.toReversed().map((one) => cut(one, one.steps.length, 0));
  return [...groups, rest];
}
