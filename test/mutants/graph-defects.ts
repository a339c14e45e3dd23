import { FencePermit } from '#fence';
import {
  packSteps,
  stepsOf,
  type AnyPart,
  type AppliedRow,
  type GraphStore,
  type Mutation,
} from '#graph';
import type { Key } from '#record';
import { openMemoryGraph } from '../support/memory-graph.ts';

/** A graph store with one defect; the contract must turn red on it (ING-T00). */
export interface GraphDefect {
  readonly name: string;
  wrap(inner: GraphStore): GraphStore;
}

/** A store that hands all to `inner`, but for what is replaced. */
function over(inner: GraphStore, replaced: Partial<GraphStore>): GraphStore {
  const methods = {
    armKeys: inner.armKeys.bind(inner),
    apply: inner.apply.bind(inner),
    adopt: inner.adopt.bind(inner),
    rows: inner.rows.bind(inner),
    digest: inner.digest.bind(inner),
    stats: inner.stats.bind(inner),
    export: inner.export.bind(inner),
    query: inner.query.bind(inner),
    cypher: inner.cypher.bind(inner),
    probe: inner.probe.bind(inner),
    close: inner.close.bind(inner),
  };
  return { graphId: inner.graphId, spillBytes: inner.spillBytes, ...methods, ...replaced };
}

function eachMutation(
  inner: GraphStore,
  change: (mutation: Mutation) => readonly Mutation[],
): GraphStore {
  return over(inner, {
    apply: (permit, group) =>
      inner.apply(
        permit,
        group.map((part) => ({
          key: part.key,
          workspace: part.workspace,
          session: part.session,
          packed: packSteps(
            stepsOf(part).map((step) => ({ ...step, mutations: step.mutations.flatMap(change) })),
          ),
        })),
      ),
  });
}

async function forgetRows(
  inner: GraphStore,
  permit: FencePermit,
  group: readonly AnyPart[],
): Promise<void> {
  const rows = new Map<Key, AppliedRow | null>(group.map(({ key }) => [key, null]));
  await inner.adopt(permit, rows);
}

export const graphDefects: readonly GraphDefect[] = [
  {
    name: 'applies the parts of a group one by one',
    wrap: (inner) =>
      over(inner, {
        async apply(permit, group) {
          for (const part of group) await inner.apply(permit, [part]);
        },
      }),
  },
  {
    name: 'applies what was applied before',
    wrap: (inner) =>
      over(inner, {
        async apply(permit, group) {
          await forgetRows(inner, permit, group);
          await inner.apply(permit, group);
        },
      }),
  },
  {
    name: 'writes whatever generation the permit has',
    wrap: (inner) =>
      over(inner, {
        apply: ({ domain }, group) =>
          inner.apply(
            FencePermit.issue(domain, 1e6, 'forged', () => true),
            group,
          ),
      }),
  },
  {
    name: 'takes every domain for its own',
    wrap: (inner) => {
      const own = ({ generation, holder, isLive }: FencePermit): FencePermit =>
        FencePermit.issue('daemon:any', generation, holder, () => isLive);
      return over(inner, {
        apply: (permit, group) => inner.apply(own(permit), group),
        armKeys: (permit, keys) => inner.armKeys(own(permit), keys),
        adopt: (permit, rows) => inner.adopt(own(permit), rows),
      });
    },
  },
  {
    name: 'hides the rows of other roots',
    wrap: (inner) =>
      over(inner, {
        async armKeys(permit, keys) {
          const rows = await inner.armKeys(permit, keys);
          return new Map([...rows].map(([key, row]) => [key, row?.rootId === 'root' ? row : null]));
        },
      }),
  },
  {
    name: 'loses what it was told when it is opened again',
    wrap: () => openMemoryGraph(),
  },
  {
    name: 'keeps the time of the edge that came last',
    wrap: (inner) =>
      eachMutation(inner, (mutation) =>
        mutation.kind === 'edge'
          ? [
              {
                kind: 'remove-edge',
                from: mutation.from.id,
                type: mutation.type,
                to: mutation.to.id,
              },
              mutation,
            ]
          : [mutation],
      ),
  },
  {
    name: 'never takes an edge away',
    wrap: (inner) =>
      eachMutation(inner, (mutation) => (mutation.kind === 'remove-edge' ? [] : [mutation])),
  },
  {
    name: 'does not listen to forks that the parent tells',
    wrap: (inner) =>
      eachMutation(inner, (mutation) => {
        const isTold = mutation.kind === 'fact' && mutation.fact.type === 'forked';
        return isTold && mutation.fact.type === 'forked' && mutation.fact.toldBy === 'parent'
          ? []
          : [mutation];
      }),
  },
  {
    name: 'has no concept but in edges',
    wrap: (inner) =>
      eachMutation(inner, (mutation) => (mutation.kind === 'concept' ? [] : [mutation])),
  },
  {
    name: 'drops nothing',
    wrap: (inner) =>
      eachMutation(inner, (mutation) =>
        mutation.kind === 'node' ? [{ ...mutation, drop: {} }] : [mutation],
      ),
  },
  {
    name: 'exports in the order of UTF-16',
    wrap: (inner) =>
      over(inner, {
        async *export() {
          const chunks: Uint8Array[] = [];
          for await (const chunk of inner.export()) chunks.push(chunk);
          const lines = Buffer.concat(chunks).toString('utf8').split('\n').slice(0, -1);
          const nodes = lines.filter((line) => line.startsWith('{"node"')).sort();
          const edges = lines.filter((line) => line.startsWith('{"edge"')).sort();
          for (const line of [...nodes, ...edges]) yield Buffer.from(`${line}\n`);
        },
      }),
  },
  {
    name: 'answers with a digest of its own making',
    wrap: (inner) =>
      over(inner, {
        async digest() {
          const { nodes, edges } = await inner.digest();
          return { digest: `${nodes}-${edges}`, nodes, edges };
        },
      }),
  },
  {
    name: 'still answers after it was closed',
    wrap: (inner) => over(inner, { close: () => Promise.resolve() }),
  },
  {
    name: 'changes the group that it was handed',
    wrap: (inner) =>
      over(inner, {
        async apply(permit, group) {
          for (const part of group) Object.assign(part, { applied: true });
          await inner.apply(permit, group);
        },
      }),
  },
  {
    name: 'lists its rows from the beginning each time',
    wrap: (inner) =>
      over(inner, {
        rows: (which) =>
          inner.rows('keys' in which ? which : { after: undefined, limit: which.limit }),
      }),
  },
  {
    name: 'adopts for whoever asks, without raising its guard',
    wrap: (inner) =>
      over(inner, {
        async adopt(permit, rows) {
          const { domain, holder } = permit;
          await inner.adopt(
            FencePermit.issue(domain, 1, holder, () => true),
            rows,
          );
        },
      }),
  },
];
