import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseJson } from '#base';
import { parseEvent, sessionOfNone, type EventFrame, type ParsedEvent } from '#record';

function parse(text: string, frame?: EventFrame): ParsedEvent {
  const bytes = Buffer.from(text);
  return parseEvent(parseJson(bytes), bytes, frame);
}

function parseValue(value: unknown, frame?: EventFrame): ParsedEvent {
  return parse(JSON.stringify(value), frame);
}

const timestamp = '2026-07-20T09:00:00Z';
const good = { event: 'tool:pre', workspace: 'w', data: { session_id: 's', timestamp } };
const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('utf8');
const codes = (parsed: ParsedEvent): string[] =>
  (parsed.faults ?? []).map(({ code, pointer }) => `${code} ${pointer}`);

describe('event envelope', () => {
  it('takes the body of the existing hook clients unchanged (ING-941)', () => {
    const { event } = parse(
      `{"event":"tool:pre","workspace":"w","working_dir":"/x","idempotency_key":"aci-event-v1:1","data":{ "session_id":"s","timestamp":"${timestamp}"}}`,
    );
    expect(event).toMatchObject({
      event: 'tool:pre',
      workspace: 'w',
      session: 's',
      hasSession: true,
    });
    expect(event).toMatchObject({ eventId: 'aci-event-v1:1', isDerivedId: false });
    expect(text(event?.dataBytes)).toBe(`{ "session_id":"s","timestamp":"${timestamp}"}`);
    expect(text(event?.moreBytes)).toBe('{"working_dir":"/x"}');
  });

  it('keeps all other top-level members in their own bytes, and none where there are none (ING-911)', () => {
    const { event } = parse(
      `{"a": 12345678901234567890, "event":"e","workspace":"w","b" :[1, 2],"data":{"timestamp":"${timestamp}"},"session_id":"s"}`,
    );
    expect(text(event?.moreBytes)).toBe('{"a": 12345678901234567890,"b" :[1, 2]}');
    expect(parseValue(good).event?.moreBytes).toBeUndefined();
  });

  it('takes the last of a repeated member, as JSON.parse does', () => {
    const { event } = parse(
      `{"event":"e","workspace":"w","data":{},"data":{"session_id":"s","timestamp":"${timestamp}"}}`,
    );
    expect(text(event?.dataBytes)).toContain('"session_id":"s"');
  });

  it('takes the session id from the path, the top level or data, if they agree (ING-911)', () => {
    const bare = { ...good, data: { timestamp } };
    expect(parseValue(bare, { session: 's' }).event?.session).toBe('s');
    expect(parseValue({ ...bare, session_id: 's' }).event?.session).toBe('s');
    expect(parseValue({ ...good, session_id: 's' }, { session: 's' }).event?.session).toBe('s');
    expect(parseValue({ ...good, session_id: '' }).event?.session).toBe('s');
    expect(codes(parseValue({ ...good, session_id: 'other' }))).toEqual([
      'EVENT_INVALID /data/session_id',
    ]);
    expect(codes(parseValue(good, { session: 'other' }))).toEqual([
      'EVENT_INVALID /data/session_id',
    ]);
    expect(codes(parseValue({ ...good, session_id: 7 }))).toEqual(['EVENT_INVALID /session_id']);
  });

  it('gives an event without a session id the sentinel of its workspace (ING-944)', () => {
    for (const data of [
      { timestamp },
      { timestamp, session_id: '' },
      { timestamp, session_id: null },
    ]) {
      expect(parseValue({ ...good, workspace: 'My Work!', data }).event).toMatchObject({
        session: '_no_session__my-work',
        hasSession: false,
      });
    }
    expect(sessionOfNone('---')).toBe('_no_session__default');
    expect(sessionOfNone('Élan Vital')).toBe('_no_session__lan-vital');
  });

  it('takes one event id from any of its places, and refuses two that differ (ING-512, ING-943)', () => {
    expect(parseValue({ ...good, event_id: 'a' }).event?.eventId).toBe('a');
    expect(
      parseValue({ ...good, event_id: 'a', idempotency_key: 'a' }, { eventId: 'a' }).event?.eventId,
    ).toBe('a');
    expect(
      parseValue({ ...good, idempotency_key: null, event_id: null }).event?.eventId,
    ).toBeUndefined();
    expect(parseValue({ ...good, idempotency_key: '' }).event?.eventId).toBeUndefined();
    expect(codes(parseValue({ ...good, event_id: 'a', idempotency_key: 'b' }))).toEqual([
      'EVENT_INVALID /idempotency_key',
    ]);
    expect(codes(parseValue({ ...good, event_id: 'a' }, { eventId: 'b' }))).toEqual([
      'EVENT_INVALID /event_id',
    ]);
    expect(codes(parseValue({ ...good, event_id: 5 }))).toEqual(['EVENT_INVALID /event_id']);
    expect(parseValue({ ...good, event_id: 'a', derived_id: true }).event?.isDerivedId).toBe(true);
    expect(parseValue({ ...good, derived_id: true }).event?.isDerivedId).toBe(false);
  });

  it('refuses ids that could not be stored or found again (ING-111)', () => {
    const bad: readonly [object, string][] = [
      [{ ...good, workspace: '' }, '/workspace'],
      [{ ...good, workspace: '  ' }, '/workspace'],
      [{ ...good, workspace: 'w'.repeat(513) }, '/workspace'],
      [{ ...good, workspace: 'a\nb' }, '/workspace'],
      [{ ...good, data: { timestamp, session_id: 'a\u0000b' } }, '/data/session_id'],
      [{ ...good, data: { timestamp, session_id: '\ud800' } }, '/data/session_id'],
      [{ ...good, data: { timestamp, session_id: 'é'.repeat(257) } }, '/data/session_id'],
      [{ ...good, data: { timestamp }, session_id: '\u001f' }, '/session_id'],
      [{ ...good, event_id: '' }, '/event_id'],
      [{ ...good, event_id: '\udc00' }, '/event_id'],
      [{ ...good, event_id: 'x'.repeat(513) }, '/event_id'],
    ];
    for (const [value, pointer] of bad) {
      expect(codes(parseValue(value))).toEqual([`SESSION_ID_INVALID ${pointer}`]);
    }
    const longest = {
      ...good,
      event_id: 'x'.repeat(512),
      data: { timestamp, session_id: 'é'.repeat(256) },
    };
    expect(parseValue(longest).faults).toBeUndefined();
  });

  it('refuses what lacks a member, and says all that is wrong at once (ING-911, ING-918)', () => {
    expect(codes(parseValue([]))).toEqual(['EVENT_INVALID ']);
    expect(codes(parseValue({}))).toEqual([
      'EVENT_INVALID /event',
      'EVENT_INVALID /workspace',
      'EVENT_INVALID /data',
    ]);
    for (const bad of [undefined, null, 5, '', ' ', 'yesterday', '2026-13-01']) {
      const value = { ...good, data: { session_id: 's', timestamp: bad } };
      expect(codes(parseValue(value))).toEqual(['EVENT_INVALID /data/timestamp']);
    }
    for (const bad of [undefined, null, 5, '', '  ', 'a\u0001', '\ud800', 'e'.repeat(513)]) {
      expect(codes(parseValue({ ...good, event: bad }))).toEqual(['EVENT_INVALID /event']);
    }
  });

  it('refuses the recorded bad requests; a slash in a session id is none, since keys escape it (ING-110)', () => {
    const path = join(
      import.meta.dirname,
      '../data/amplifier/made-post-events-invalid-requests.ndjson',
    );
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, 6);
    expect(lines.map((line) => codes(parse(line)))).toEqual([
      ['SESSION_ID_INVALID /workspace'],
      ['EVENT_INVALID /workspace'],
      ['EVENT_INVALID /data/timestamp'],
      ['EVENT_INVALID /data'],
      ['EVENT_INVALID /event'],
      [],
    ]);
  });

  it.each([
    ['x', true],
    ['a b ~', true],
    [' x', true],
    ['\u007f', true],
    ['\u00e9', true],
    ['x'.repeat(512), true],
    ['x'.repeat(513), false],
    ['\u00e9'.repeat(256), true],
    ['\u00e9'.repeat(257), false],
    ['x\u0000', false],
    ['x\u001f', false],
    ['\ud800', false],
    [' ', false],
    ['', false],
  ])('takes %j for a workspace and the name of an event: %s (ING-111)', (given, isTaken) => {
    expect(parseValue({ ...good, workspace: given }).faults === undefined).toBe(isTaken);
    expect(parseValue({ ...good, event: given }).faults === undefined).toBe(isTaken);
  });
});
