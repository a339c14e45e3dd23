import { Type } from 'typebox';
import { requireAllWorkspaces } from '../sessions/session-lookup.ts';
import { type Verb, defineVerb } from '../verb.ts';

export const vacuumVerb: Verb = defineVerb({
  name: 'vacuum',
  summary:
    'give disk back that queue, control database and graph do not use; the graph waits meanwhile',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object({}, { additionalProperties: false }),
  output: Type.Object({
    freed_bytes: Type.Integer(),
    components: Type.Array(
      Type.Object({ name: Type.String(), before: Type.Integer(), after: Type.Integer() }),
    ),
  }),
  countOf: ({ components }) => components.length,
  http: { method: 'POST', path: '/v1/vacuum' },
  async run(context, _input, caller) {
    requireAllWorkspaces(caller, 'a vacuum');
    const components = await context.vacuum();
    const freed = components.reduce((sum, { before, after }) => sum + before - after, 0);
    return { freed_bytes: freed, components: components.map((one) => ({ ...one })) };
  },
});
