import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, parseJson, sha256Hex, type JsonObject } from '#base';
import { claimedEvents, fold } from '#handlers';
import { emptyCursor } from '#record';
import { bodies, foldSession, labelsOf, propertiesOf, timeOf, type EventSpec } from './folded.ts';
import { recordOf, spillBytes } from './sample-events.ts';

const eventNodes = (folded: ReturnType<typeof foldSession>): readonly string[] =>
  [...folded.nodes].filter(([, { labels }]) => labels.has('Event')).map(([id]) => id);
const ms = Date.parse(timeOf(0));
const labelsOfEvent = (event: string): readonly string[] => {
  const folded = foldSession([[event]]);
  return labelsOf(folded, eventNodes(folded)[0] ?? '');
};

describe('event nodes', () => {
  it('are made of every event, known or not, and hang on the session', () => {
    const folded = foldSession([['fast_decisions:made', { why: 'x' }]]);
    const id = `s__fast_decisions_made__${ms}__@1`;
    expect(propertiesOf(folded, id)).toEqual({
      event_name: 'fast_decisions:made',
      session_id: 's',
      occurred_at: { $time: `${timeOf(0).slice(0, -1)}000000Z` },
      data: `{"session_id": "s", "timestamp": "${timeOf(0)}", "why": "x"}`,
    });
    expect(folded.edges.has(`s\nHAS_EVENT\n${id}`)).toBe(true);
  });

  it('end in the event’s own id, else in the count of applied events, never in a position (D21, PN-26)', () => {
    const same = { timestamp: timeOf(0), tool_call_id: 't' };
    const folded = foldSession([
      ['tool:post', same, { event_id: 'e-1' }],
      ['tool:post', same],
      ['tool:post', same],
    ]);
    expect(eventNodes(folded)).toEqual([
      `s__tool_post__${ms}__e-1`,
      `s__tool_post__${ms}__@2`,
      `s__tool_post__${ms}__@3`,
    ]);
  });

  it('have ids of at most 1024 bytes, and no two owners share a prefix (ING-611)', () => {
    const session = `${'é'.repeat(250)}::x`;
    const folded = foldSession([['e'.repeat(512), {}, { event_id: 'i'.repeat(512) }]], session);
    const [id = ''] = eventNodes(folded);
    expect(Buffer.byteLength(id)).toBeLessThanOrEqual(900 + 65);
    expect(id).toMatch(/~[0-9a-f]{64}$/);
    expect(id.startsWith(`${'é'.repeat(250)}:%3Ax__e`)).toBe(true);
    expect(folded.nodes.has(`${'é'.repeat(250)}:%3Ax`)).toBe(true);
  });

  it('keep the labels of valid names and get safe ones for all others (PN-23, G12)', () => {
    expect(labelsOfEvent('tool:pre')).toEqual(['Event', 'ToolEvent', 'ToolPreEvent']);
    expect(labelsOfEvent('recipe:loop_iteration')).toEqual([
      'Event',
      'RecipeEvent',
      'RecipeLoopIterationEvent',
    ]);
    expect(labelsOfEvent('llm:request:debug')).toEqual([
      'Event',
      'LlmRequestDebugEvent',
      'LlmRequestEvent',
    ]);
    expect(labelsOfEvent('CamelCase')).toEqual(['CamelcaseEvent', 'Event']);
    expect(labelsOfEvent('session-naming:set')).toEqual([
      'Event',
      'SessionNamingEvent',
      'SessionNamingSetEvent',
    ]);
    expect(labelsOfEvent('notify:turn-complete')).toEqual([
      'Event',
      'NotifyEvent',
      'NotifyTurnCompleteEvent',
    ]);
    expect(labelsOfEvent('3d:render.done now')).toEqual([
      'Event',
      '_3dEvent',
      '_3dRenderDoneNowEvent',
    ]);
    expect(labelsOfEvent('событие')).toEqual(['Event']);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (event) => {
        fc.pre(event.trim() !== '');
        for (const label of labelsOfEvent(event))
          expect(label).toMatch(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/);
      }),
    );
  });

  it('lift the members that queries ask for', () => {
    const lift = (event: string, data: NonNullable<EventSpec[1]>): Record<string, unknown> => {
      const folded = foldSession([[event, data]]);
      const {
        data: _data,
        occurred_at: _at,
        session_id: _session,
        event_name: _name,
        ...rest
      } = propertiesOf(folded, eventNodes(folded)[0] ?? '');
      return rest;
    };
    expect(lift('tool:pre', { tool_name: 'x', tool_input: { a: 1 }, other: 1 })).toEqual({
      tool_name: 'x',
      tool_input: '{"a": 1}',
    });
    expect(
      lift('session:start', {
        parent: null,
        metadata: { agent_name: 'a', recipe_step_index: 0, more: 1 },
      }),
    ).toEqual({ agent_name: 'a', recipe_step_index: 0 });
    expect(lift('session:start', { metadata: 'text' })).toEqual({});
    expect(lift('skills:discovered', { skill_name: 'x' })).toEqual({});
    expect(lift('artifact:write', { path: 'p', bytes: 42, parent_id: 'q' })).toEqual({
      path: 'p',
      bytes: 42,
      parent_id: 'q',
    });
  });

  it('hold text that any store can keep, and numbers as they were sent (D30)', () => {
    const folded = foldSession([['prompt:submit', { prompt: 'a\ud800b', n: [1, 2] }]]);
    const [id = ''] = eventNodes(folded);
    expect(propertiesOf(folded, id)['prompt']).toBe('a\\ud800b');
    expect(propertiesOf(folded, id)['data']).toContain('"a\\ud800b"');
    const text = `{"event":"e","workspace":"w","data":{"session_id":"s","timestamp":"${timeOf(0)}","n":12345678901234567890}}`;
    const { mutations } = fold(emptyCursor(), recordOf(parseJson(text) as JsonObject), {
      spillBytes,
    });
    expect(JSON.stringify(mutations)).toContain('\\"n\\": 12345678901234567890');
  });

  it('mean nothing by a name that objects inherit', () => {
    for (const event of ['constructor', '__proto__', 'toString'])
      expect(eventNodes(foldSession([[event, { metadata: { constructor: 1 } }]]))).toHaveLength(1);
    expect(claimedEvents).toContain('tool:pre');
  });
});

describe('large values', () => {
  const large = 'x'.repeat(spillBytes);
  const referenceOf = (value: unknown): object => {
    const bytes = Buffer.from(canonicalJson(value as JsonObject));
    return {
      $object: { sha256: sha256Hex(bytes), bytes: bytes.length, media_type: 'application/json' },
    };
  };

  it('leave a reference and become content-addressed values, small ones stay inline (D30, G14)', () => {
    const folded = foldSession([
      ['llm:request', { raw: { text: large, usage: { input_tokens: 1 } }, model: 'm' }],
    ]);
    const data = JSON.parse(
      propertiesOf(folded, eventNodes(folded)[0] ?? '')['data'] as string,
    ) as Record<string, unknown>;
    expect(data).toMatchObject({
      model: 'm',
      usage: { input_tokens: 1 },
      raw: referenceOf({ text: large, usage: { input_tokens: 1 } }),
    });
    const [value] = folded.steps[0]?.values ?? [];
    expect(folded.steps[0]?.values).toHaveLength(1);
    expect(sha256Hex(value?.bytes ?? new Uint8Array())).toBe(value?.sha256);
    expect(value?.mediaType).toBe('application/json');
  });

  it('are measured as JSON text: at the limit they stay, one byte above they go', () => {
    for (const [length, count] of [
      [98, 0],
      [99, 1],
    ] as const) {
      const folded = foldSession(
        [
          [
            'prompt:submit',
            { prompt: 'p'.repeat(length), session_id: 's', timestamp: '2026-07-20' },
          ],
        ],
        's',
        100,
      );
      const spilled = (folded.steps[0]?.values ?? []).filter(({ bytes }) => bytes.length < 110);
      expect([length, spilled.length]).toEqual([length, count]);
    }
  });

  it('are one object in data and in a property, and a whole that is still too large goes too', () => {
    const folded = foldSession([['prompt:submit', { prompt: large }]]);
    const reference = JSON.stringify(referenceOf(large))
      .replaceAll('":', '": ')
      .replaceAll(',"', ', "');
    expect(propertiesOf(folded, `s::prompt::${timeOf(0)}`)['prompt']).toBe(reference);
    expect(folded.steps[0]?.values).toHaveLength(1);
    const many = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`m${at}`, 'y'.repeat(1000)]),
    );
    const whole = foldSession([['custom', many]]);
    const data = propertiesOf(whole, eventNodes(whole)[0] ?? '')['data'];
    expect(JSON.parse(data as string)).toEqual(
      referenceOf({ session_id: 's', timestamp: timeOf(0), ...many }),
    );
  });

  it('do not change what a tool call says of its result (G6)', () => {
    const folded = foldSession([
      ['tool:post', { tool_call_id: 't', result: { error: 'no', output: large } }],
    ]);
    expect(propertiesOf(folded, 's::tool::t')).toMatchObject({
      result_success: false,
      result_error: 'no',
    });
  });
});

describe('prompts and interruptions', () => {
  it('are parts of their session', () => {
    const folded = foldSession([
      ['prompt:submit', { prompt: 'hi' }],
      ['cancel:completed', { was_immediate: true }],
      ['cancel:completed', { immediate: false }],
      ['context:pre_compact'],
      ['context:post_compact'],
    ]);
    expect(propertiesOf(folded, `s::prompt::${timeOf(0)}`)).toMatchObject({
      prompt: 'hi',
      session_id: 's',
    });
    expect(propertiesOf(folded, `s::cancellation::${timeOf(1)}`)['was_immediate']).toBe(true);
    expect(propertiesOf(folded, `s::cancellation::${timeOf(2)}`)['was_immediate']).toBe(false);
    expect(
      [...folded.edges.keys()].filter((key) => /HAS_PART|HAS_COMPACTION/.test(key)),
    ).toHaveLength(5);
    expect(bodies('s', [])).toEqual([]);
  });
});
