import type { GroupPart } from '#graph';
import { edge, fact, node, part, time } from '../contract/graph/harness.ts';

/** A little of everything that a graph holds, and what comes later: it must find what queries never show. */
export function copyParts(): {
  readonly before: readonly GroupPart[];
  readonly after: readonly GroupPart[];
} {
  const session = (id: string) => node(id, id, ['Session'], { session_id: id });
  const spawned = (parent: string, child: string, agent: string) =>
    fact(child, `${parent}__spawn__${child}`, {
      type: 'spawned',
      parent,
      delegation: `${parent}::delegation::${child}`,
      agent,
      occurredAt: time(2),
    });
  const before = ['one', 'two'].flatMap((workspace) => [
    part(
      's',
      [
        [session('s'), fact('s', 's__e', { type: 'started', parent: null, occurredAt: time(1) })],
        [
          node('s', 's::1', ['Prompt'], { text: 'ü', at: { $time: time(3) }, odd: ['a', 1] }),
          edge('s', 'HAS_PART', 's::1', { occurredAt: time(3), properties: { kind: 'x' } }),
          edge('s', 'HAS_PART', 's::2'),
        ],
        [spawned('s', 'c', 'coder'), spawned('c', 'd', 'self')],
        [{ kind: 'concept', concept: 'Recipe', name: 'r', occurredAt: time(4) }],
      ],
      { workspace },
    ),
    part('c', [[session('c')]], { workspace }),
  ]);
  const after = ['one', 'two'].flatMap((workspace) => [
    part('p', [[session('p'), spawned('p', 's', 'chief')]], { workspace }),
    part('c', [[spawned('p', 'c', 'earlier')]], { workspace, first: 2 }),
    part('s', [[node('s', 's::2', ['Prompt'], { text: 'late' })]], { workspace, first: 5 }),
  ]);
  return { before, after };
}
