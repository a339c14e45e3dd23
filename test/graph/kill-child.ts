/**
 * A process that applies groups to the graph at argv[2] as fast as it can, from group argv[3] on, and prints each one's number once it is
 * acknowledged. Its parent kills it.
 */
import { writeSync } from 'node:fs';
import type { GroupPart } from '#graph';
import { edge, node, part, permit } from '../contract/graph/harness.ts';
import { openTestGraph } from './embedded-harness.ts';

/** Group `number`: three keys, ten records each, so that half of one would show. */
export function killGroup(number: number): readonly GroupPart[] {
  const text = 'x'.repeat(2000);
  return ['a', 'b', 'c'].map((session) =>
    part(
      session,
      Array.from({ length: 10 }, (_, at) => {
        const id = `${session}::${number}-${at}`;
        return [
          node(session, session, ['Session'], { last: number * 10 + at }),
          node(session, id, ['Prompt'], { number, text }),
          edge(session, 'HAS_PART', id),
        ];
      }),
      { first: number * 10 + 1 },
    ),
  );
}

if (process.argv[2] !== undefined && import.meta.filename === process.argv[1]) {
  const graph = await openTestGraph(process.argv[2]);
  for (let number = Number(process.argv[3]); ; number += 1) {
    await graph.apply(permit, killGroup(number));
    writeSync(1, `${number}\n`);
  }
}
