import { Type } from 'typebox';
import { repairOf } from '../queue/quarantine-verbs.ts';
import { findSession, sessionActInput } from '../sessions/session-lookup.ts';
import { type Verb, defineVerb } from '../verb.ts';

/** The way out of DEAD_LETTERS_MISSING where there is no backup; the act stands in the audit with the number of records. */
export const deadWriteOffVerb: Verb = defineVerb({
  name: 'dead write-off',
  summary:
    'count dead records of a session whose letters are lost as discarded, so that its books speak of what is there',
  effect: 'destroy',
  scope: 'ops:write',
  input: sessionActInput,
  output: Type.Object({
    dry_run: Type.Boolean(),
    key: Type.String(),
    /** Records that are dead by the books, that letters are there for, and the difference, which is written off. */
    counted: Type.Integer(),
    found: Type.Integer(),
    lost: Type.Integer(),
  }),
  countOf: ({ lost }) => lost,
  http: { method: 'POST', path: '/v1/sessions/{session}/write-off' },
  async run(context, input, actor) {
    const repair = repairOf(context);
    const { key } = await findSession(context, input.session, input.workspace, actor);
    const isDryRun = input.dry_run === true;
    const { counted, found } = isDryRun
      ? await repair.countLetters(key)
      : await repair.writeOff(key);
    const lost = Math.max(0, counted - found);
    return { dry_run: isDryRun, key: key as string, counted, found, lost };
  },
});
