import type { AdoptDependencies } from '#drain';
import type { Key } from '#record';

/** An adopt with one defect; the sweep over its steps must turn red on it (ING-T00, ING-T43). */
export interface AdoptDefect {
  readonly name: string;
  wrap(dependencies: AdoptDependencies): AdoptDependencies;
}

type Bond = AdoptDependencies['bond'];

function over(bond: Bond, replaced: Partial<Bond>): Bond {
  return {
    get graphId() {
      return bond.graphId;
    },
    get restoredFrom() {
      return bond.restoredFrom;
    },
    bondedKeys: (page) => bond.bondedKeys(page),
    checkpointedKeys: (page) => bond.checkpointedKeys(page),
    bondedKey: (key) => bond.bondedKey(key),
    forgetApplied: (keys) => bond.forgetApplied(keys),
    bindGraph: (graphId) => bond.bindGraph(graphId),
    ...replaced,
  };
}

export const adoptDefects: readonly AdoptDefect[] = [
  {
    name: 'changes format.json first',
    wrap: (dependencies) => {
      const { bond, graph } = dependencies;
      let isBound = false;
      return {
        ...dependencies,
        bond: over(bond, {
          async bondedKeys(page) {
            if (!isBound) await bond.bindGraph(graph.graphId);
            isBound = true;
            return bond.bondedKeys(page);
          },
        }),
      };
    },
  },
  {
    name: 'sets a row before its ids are forgotten',
    wrap: (dependencies) => {
      const { bond } = dependencies;
      const late: Key[] = [];
      return {
        ...dependencies,
        bond: over(bond, {
          async forgetApplied(keys) {
            late.push(...keys);
            return 0;
          },
          async bindGraph(graphId) {
            await bond.forgetApplied(late);
            await bond.bindGraph(graphId);
          },
        }),
      };
    },
  },
];
