import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTimestamp, sessionNodeId } from '#record';
import { conceptNodeId } from '../../src/graph/concept.ts';
import { eventNodeId, ownedNodeId } from '../../src/handlers/node-id.ts';

const at = (epochMs: number): NonNullable<ReturnType<typeof parseTimestamp>> => {
  const time = parseTimestamp(new Date(epochMs).toISOString());
  if (time === undefined) throw new Error('it is a time');
  return time;
};

/** Pieces of which ids are crafted that could meet. */
const piece = fc.constantFrom(
  'a',
  'b',
  '_',
  '__',
  '1',
  '-2',
  '__1__',
  ':',
  '::',
  ':%',
  '%5F',
  '@1',
  '~',
  '\u007f',
  '%7F',
  '::tool::',
  'agent',
  'tool',
  'mount_plan',
);
const text = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(''));
const session = fc.oneof(text, fc.constantFrom('agent', 'orchestrator', 'recipe'));

type Made = readonly [id: string, owner: string];

const made: fc.Arbitrary<Made> = fc.oneof(
  session.map((of): Made => [sessionNodeId(of), of]),
  fc
    .tuple(session, text, fc.constantFrom(1, 2, -2), fc.option(text, { nil: undefined }))
    .map(([of, event, ms, id]): Made => [
      eventNodeId(sessionNodeId(of), event, at(ms), { id, seq: 1 }),
      of,
    ]),
  fc
    .tuple(session, fc.constantFrom('tool', 'block', 'orch_run'), text)
    .map(([of, kind, rest]): Made => [ownedNodeId(sessionNodeId(of), kind, rest), of]),
  session.map((of): Made => [ownedNodeId(sessionNodeId(of), 'mount_plan'), of]),
  fc
    .tuple(fc.constantFrom('Agent', 'Orchestrator', 'Recipe'), text)
    .map(([kind, name]): Made => [conceptNodeId({ kind: kind as 'Agent', name }), `the ${kind}`]),
);

const event = (of: string, name: string, ms: number, id?: string): string =>
  eventNodeId(sessionNodeId(of), name, at(ms), { id, seq: 1 });

describe('node ids', () => {
  it('of different owners never meet, however they are crafted (P12, ING-611, ING-615)', () => {
    fc.assert(
      fc.property(fc.array(made, { minLength: 2, maxLength: 60 }), (all) => {
        const owners = new Map<string, string>();
        for (const [id, owner] of all) {
          expect([id, owners.get(id) ?? owner]).toEqual([id, owner]);
          owners.set(id, owner);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    [
      'an event name that begins with the rest of a session id',
      event('a', 'b__x', 1, 'i'),
      event('a__b', 'x', 1, 'i'),
    ],
    ['underscores at the joint', event('a', '_x', 1, 'i'), event('a_', 'x', 1, 'i')],
    [
      'an event id that holds a whole event',
      event('a', 'x', 1, 'y__2__z'),
      event('a__x__1', 'y', 2, 'z'),
    ],
    ['a session named like an event', event('a', 'x', 1, 'y'), sessionNodeId('a__x__1__y')],
    [
      'an event id with a kind',
      event('a', 'x', 1, 'y::tool::c'),
      ownedNodeId(sessionNodeId('a__x__1__y'), 'tool', 'c'),
    ],
    [
      'an agent named like a kind',
      conceptNodeId({ kind: 'Agent', name: 'mount_plan' }),
      ownedNodeId(sessionNodeId('agent'), 'mount_plan'),
    ],
    [
      'a control character and its escape',
      ownedNodeId(sessionNodeId('a\u007f'), 'tool', 'c'),
      ownedNodeId(sessionNodeId('a%7F'), 'tool', 'c'),
    ],
    ['an event id like a count', event('a', 'x', 1, '@1'), event('a', 'x', 1)],
  ])('differ in spite of %s', (_what, one, other) => {
    expect(one).not.toBe(other);
  });

  it('keep their plain form for ordinary names', () => {
    expect(event('_no_session__my-demo', 'tool:pre', 1700000000000, 'e-1')).toBe(
      '_no_session__my-demo__tool_pre__1700000000000__e-1',
    );
    expect(event('0f4c1f5e_self__2', 'llm:request:debug', 1, 'x__y')).toBe(
      '0f4c1f5e_self_:%5F2__llm_request_debug__1__x__y',
    );
    expect(event('0f4c1f5e-6a51-4d0e_foundation:explorer', 'x', 5)).toBe(
      '0f4c1f5e-6a51-4d0e_foundation:explorer__x__5__@1',
    );
    expect(sessionNodeId('recipe')).toBe(':%72ecipe');
    expect(sessionNodeId('recipes')).toBe('recipes');
  });
});
