import {
  CypherMap,
  valueOf,
  type GraphView,
  type NodeValue,
  type RelationshipValue,
} from '../cypher/index.ts';
import { visibleLabels, visibleProperties, type EdgeState, type NodeState } from '../node-state.ts';

/** A graph of maps as Cypher sees it. Keys of `nodes` are workspace and id with a NUL between them. */
export function memoryView(
  content: {
    readonly nodes: ReadonlyMap<string, NodeState>;
    readonly edges: ReadonlyMap<
      string,
      {
        readonly workspace: string;
        readonly from: string;
        readonly type: string;
        readonly to: string;
        readonly state: EdgeState;
      }
    >;
  },
  workspaces: readonly string[] | undefined,
): GraphView {
  const nodes = new Map<string, NodeValue>();
  for (const [key, state] of content.nodes) {
    const [workspace = '', id = ''] = key.split('\u0000');
    if (workspaces !== undefined && !workspaces.includes(workspace)) continue;
    const own = Object.entries(visibleProperties(state)).map(
      ([name, value]) => [name, valueOf(value)] as const,
    );
    nodes.set(key, {
      kind: 'node',
      nid: nodes.size + 1,
      id,
      workspace,
      labels: visibleLabels(state),
      properties: new CypherMap([...own, ['node_id', id], ['workspace', workspace]]),
    });
  }
  const relationships = [...content.edges].flatMap(([key, edge]): RelationshipValue[] => {
    const from = nodes.get(`${edge.workspace}\u0000${edge.from}`);
    const to = nodes.get(`${edge.workspace}\u0000${edge.to}`);
    if (from === undefined || to === undefined) return [];
    const { occurredAt } = edge.state;
    const own = Object.entries(edge.state.properties).map(
      ([name, value]) => [name, valueOf(value)] as const,
    );
    const time =
      occurredAt === undefined ? [] : ([['occurred_at', valueOf({ $time: occurredAt })]] as const);
    const properties = new CypherMap([...own, ...time]);
    return [{ kind: 'relationship', from, type: edge.type, to, properties, key }];
  });
  const all = [...nodes.values()];
  return {
    nodes: (label) => all.filter(({ labels }) => label === undefined || labels.includes(label)),
    countNodes: () => all.length,
    nodesById: (wanted) => all.filter(({ id }) => id === wanted),
    neighbours: (node, direction, types) =>
      relationships
        .filter(({ type }) => types === undefined || types.includes(type))
        .flatMap((relationship) => {
          const { from, to } = relationship;
          if (direction !== 'in' && from.nid === node.nid) return [{ relationship, node: to }];
          if (direction !== 'out' && to.nid === node.nid) return [{ relationship, node: from }];
          return [];
        }),
  };
}
