import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import type { GraphStore, GroupPart, Mutation, SessionFact } from '#graph';
import { fact, node, part, permit, readGraph, time, type GraphCheck } from './harness.ts';

interface Spawn {
  readonly parent: string;
  readonly child: string;
  readonly agent: string;
  readonly second?: number;
}

/** A spawn as the stream of the parent tells it. */
function spawn({ parent, child, agent, second = 1 }: Spawn): GroupPart {
  const delegation = `${parent}::delegation::${child}`;
  const told: SessionFact = {
    type: 'spawned',
    parent,
    delegation,
    agent,
    occurredAt: time(second),
  };
  const written = node(parent, delegation, ['Delegation', 'SST_EVENT'], {
    agent,
    started_at: { $time: time(second) },
  });
  return part(parent, [[written, fact(child, `${parent}__spawn__${child}`, told)]]);
}

function typed(session: string, type: 'started' | 'forked'): GroupPart {
  const own: SessionFact =
    type === 'started'
      ? { type, parent: null, occurredAt: time(0) }
      : { type, parent: null, occurredAt: time(0), toldBy: 'child' };
  const first = node(session, session, ['Session'], { session_id: session });
  return part(session, [[first, fact(session, `${session}__${type}`, own)]]);
}

/** The logs of several streams put together: parts of one session are one log. */
function joined(parts: readonly GroupPart[]): readonly GroupPart[] {
  const logs = Map.groupBy(parts, ({ session }) => session);
  return [...logs].map(([session, own]) =>
    part(
      session,
      own.flatMap(({ steps }) => steps.map(({ mutations }) => mutations)),
    ),
  );
}

interface Agents {
  /** `child agent` of each HAS_AGENT. */
  readonly has: readonly string[];
  readonly agents: readonly string[];
  /** `delegation resolved_agent`, where there is one. */
  readonly resolved: readonly string[];
}

async function readAgents(store: GraphStore): Promise<Agents> {
  const { nodes, edges } = await readGraph(store);
  return {
    has: edges
      .filter(({ type }) => type === 'HAS_AGENT')
      .map(({ from, to }) => `${from} ${to}`)
      .sort(),
    agents: nodes.filter(({ labels }) => labels.includes('Agent')).map(({ id }) => id),
    resolved: nodes
      .filter(({ properties }) => properties['resolved_agent'] !== undefined)
      .map(({ id, properties }) => `${id} ${JSON.stringify(properties['resolved_agent'])}`),
  };
}

/** What these logs make, one part after the other in each order of the streams; every order must make the same. */
function resolves(name: string, parts: readonly GroupPart[], wanted: Agents): GraphCheck {
  return {
    name,
    async run(harness) {
      const store = await harness.open();
      const logs = joined(parts);
      for (const log of logs.toReversed()) await store.apply(permit, [log]);
      deepStrictEqual(await readAgents(store), wanted);
      const { digest } = await store.digest();
      const forgotten = new Map(logs.map(({ key }) => [key, null]));
      for (const groups of [logs.map((log) => [log]), [logs]]) {
        await store.adopt(permit, forgotten);
        for (const group of groups) await store.apply(permit, group);
        strictEqual((await store.digest()).digest, digest);
      }
    },
  };
}

/** Agents, and delegations that several streams tell of (ING-616). */
export const delegateChecks: readonly GraphCheck[] = [
  resolves(
    'ties a child to the agent that it was spawned as, of several spawns to that of the earliest',
    [
      spawn({ parent: 'p', child: 'c', agent: 'late', second: 5 }),
      spawn({ parent: 'q', child: 'c', agent: 'early', second: 3 }),
    ],
    { has: ['c agent::early'], agents: ['agent::early'], resolved: [] },
  ),
  resolves(
    'finds the agent behind a self-delegation whichever half came first (G15, PG-25)',
    [
      spawn({ parent: 'p', child: 'c', agent: 'coder' }),
      spawn({ parent: 'c', child: 'd', agent: 'self' }),
    ],
    {
      has: ['c agent::coder', 'd agent::coder'],
      agents: ['agent::coder'],
      resolved: ['c::delegation::d "coder"'],
    },
  ),
  resolves(
    'follows a chain of self-delegations to its first agent (PG-09)',
    [
      spawn({ parent: 'p', child: 'c', agent: 'coder' }),
      spawn({ parent: 'c', child: 'd', agent: 'self' }),
      spawn({ parent: 'd', child: 'e', agent: 'self' }),
    ],
    {
      has: ['c agent::coder', 'd agent::coder', 'e agent::coder'],
      agents: ['agent::coder'],
      resolved: ['c::delegation::d "coder"', 'd::delegation::e "coder"'],
    },
  ),
  resolves(
    'takes the type of a session that nobody spawned for its agent',
    [
      typed('r', 'started'),
      spawn({ parent: 'r', child: 'c', agent: 'self' }),
      typed('f', 'forked'),
      spawn({ parent: 'f', child: 'd', agent: 'self' }),
    ],
    {
      has: ['c agent::root', 'd agent::forked'],
      agents: ['agent::forked', 'agent::root'],
      resolved: ['f::delegation::d "forked"', 'r::delegation::c "root"'],
    },
  ),
  resolves(
    'leaves a circle and a missing half unresolved, without any agent',
    [
      spawn({ parent: 'a', child: 'b', agent: 'self' }),
      spawn({ parent: 'b', child: 'a', agent: 'self' }),
      spawn({ parent: 'm', child: 'n', agent: 'self' }),
    ],
    {
      has: [],
      agents: [],
      resolved: [
        'a::delegation::b "unresolved"',
        'b::delegation::a "unresolved"',
        'm::delegation::n "unresolved"',
      ],
    },
  ),
  {
    name: 'resolves again, descendants included, when the agent of a session changes, and forgets an agent that nobody has',
    async run(harness) {
      const store = await harness.open();
      await store.apply(permit, [typed('r', 'started')]);
      const self: readonly (readonly Mutation[])[] = [
        spawn({ parent: 'r', child: 'c', agent: 'self' }),
      ].flatMap(({ steps }) => steps.map(({ mutations }) => mutations));
      await store.apply(permit, [part('r', self, { first: 2 })]);
      await store.apply(permit, [spawn({ parent: 'c', child: 'd', agent: 'self' })]);
      deepStrictEqual((await readAgents(store)).has, ['c agent::root', 'd agent::root']);
      await store.apply(permit, [spawn({ parent: 'p', child: 'r', agent: 'chief' })]);
      deepStrictEqual(await readAgents(store), {
        has: ['c agent::chief', 'd agent::chief', 'r agent::chief'],
        agents: ['agent::chief'],
        resolved: ['c::delegation::d "chief"', 'r::delegation::c "chief"'],
      });
    },
  },
  {
    name: 'takes the life of a delegation whole from its owner, else from the latest of other streams (G13)',
    async run(harness) {
      const store = await harness.open();
      const resumed = (stream: string, second: number, first: number): GroupPart =>
        part(
          stream,
          [
            [
              fact('p', `${stream}__resumed__${second}`, {
                type: 'delegation',
                delegation: 'p::delegation::t',
                phase: 'lifecycle',
                properties: { resumed_at: { $time: time(second) } },
                occurredAt: time(second),
              }),
            ],
          ],
          { first },
        );
      await store.apply(permit, [resumed('c', 7, 1), resumed('d', 4, 1)]);
      const read = async (): Promise<unknown> =>
        (await readGraph(store)).nodes.find(({ id }) => id === 'p::delegation::t')?.properties;
      deepStrictEqual(await read(), { resumed_at: time(7) });
      const own = node('p', 'p::delegation::t', ['Delegation', 'SST_EVENT'], {
        ended_at: { $time: time(5) },
      });
      await store.apply(permit, [part('p', [[own]])]);
      deepStrictEqual(await read(), { ended_at: time(5) });
      await store.apply(permit, [resumed('c', 9, 2)]);
      deepStrictEqual(await read(), { ended_at: time(5) });
    },
  },
];
