import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, parseJson, stringifyJson, type JsonValue } from '#base';
import {
  buildLine,
  contentDigest,
  encodeKey,
  parseEvent,
  parseLine,
  type AcceptedEvent,
} from '#record';

const acceptance = { acceptedAt: '2026-07-20T09:00:00.000Z', by: 'ada' };
const timestamp = '2026-07-20T09:00:00Z';

function eventOf(text: string): AcceptedEvent {
  const bytes = Buffer.from(text);
  const { event } = parseEvent(parseJson(bytes), bytes);
  if (event === undefined) throw new Error(`not an event: ${text}`);
  return event;
}

function lineOf(text: string): Uint8Array {
  return buildLine(eventOf(text), acceptance);
}

const body = (data: string, more = ''): string =>
  `{"event":"tool:pre","workspace":"w"${more},"data":{"session_id":"s","timestamp":"${timestamp}"${data}}}`;

describe('log line', () => {
  it('is the same whatever lines were built before it, for ids and names of every kind', () => {
    const id = fc.constantFrom(
      'a',
      'b-1',
      'é',
      '🦀',
      'q"',
      'back\\slash',
      ' ',
      '\u007f',
      '\u2028',
      'c\n',
    );
    const event = fc.record({
      workspace: id,
      session: id,
      hasSession: fc.constant(true),
      eventId: fc.option(id, { nil: undefined }),
      isDerivedId: fc.boolean(),
      event: id,
      dataBytes: fc.constantFrom(Buffer.from('{}'), Buffer.from('{"a":"é"}')),
      moreBytes: fc.constantFrom(undefined, Buffer.from('{"b":1}')),
    });
    const given = fc.record({
      acceptedAt: fc.constantFrom('2026-07-20T09:00:00.000Z', '2026-07-20T09:00:00.001Z'),
      by: fc.constantFrom(null, 'ada', 'b"'),
    });
    const q = JSON.stringify;
    fc.assert(
      fc.property(event, given, (one, { acceptedAt, by }) => {
        const sent = one.eventId === undefined ? '' : `,"id":${q(one.eventId)}`;
        const derived = one.isDerivedId ? ',"derived":true' : '';
        const more = one.moreBytes === undefined ? '' : `,"more":${one.moreBytes.toString()}`;
        expect(Buffer.from(buildLine(one, { acceptedAt, by })).toString()).toBe(
          `{"v":1,"sid":${q(one.session)}${sent}${derived},"at":"${acceptedAt}","ws":${q(one.workspace)},"by":${q(by)},"ev":${q(one.event)},"data":${one.dataBytes.toString()}${more}}`,
        );
      }),
      { numRuns: 1000 },
    );
  });

  it('is built rightly of more sessions than are kept in mind (P9)', () => {
    const one = eventOf(body(''));
    for (let round = 0; round < 2; round += 1)
      for (let at = 0; at < 5000; at += 1) {
        const session = `s-${at}`;
        const line = Buffer.from(buildLine({ ...one, session }, acceptance)).toString();
        if (!line.startsWith(`{"v":1,"sid":"${session}","at":`)) expect(line).toBe(session);
      }
  });

  it('holds the members of the format in order, with the client’s own bytes (ING-919)', () => {
    const line = lineOf(
      body(',"n":12345678901234567890,"t":"\\u00e9"', ',"event_id":"e1","dir":"/x"'),
    );
    expect(Buffer.from(line).toString()).toBe(
      '{"v":1,"sid":"s","id":"e1","at":"2026-07-20T09:00:00.000Z","ws":"w","by":"ada","ev":"tool:pre",' +
        `"data":{"session_id":"s","timestamp":"${timestamp}","n":12345678901234567890,"t":"\\u00e9"},"more":{"dir":"/x"}}`,
    );
  });

  it('has no line break, however the client wrote its event, and the same JSON value (ING-122, ING-919)', () => {
    const value = JSON.parse(body(',"list":[1,{"a":"x\\ny"}]')) as JsonValue;
    const pretty = JSON.stringify(value, undefined, 2).replaceAll('\n', '\r\n');
    const line = lineOf(pretty);
    expect(line.includes(0x0a) || line.includes(0x0d)).toBe(false);
    const { record } = parseLine(line, encodeKey('w', 's'));
    expect(record?.data).toEqual((value as Record<string, unknown>)['data']);
  });

  it('reads back what was accepted, without loss, with and without the backend’s crc', () => {
    const key = encodeKey('w', 's');
    const line = Buffer.from(
      lineOf(body(',"n":1e400', ',"event_id":"e1","derived_id":true,"dir":"/x"')),
    ).toString();
    for (const text of [line, `${line.slice(0, -1)},"crc":"00000000"}`]) {
      const { record } = parseLine(Buffer.from(text), key);
      expect(record).toMatchObject({
        key,
        workspace: 'w',
        session: 's',
        id: 'e1',
        isDerivedId: true,
      });
      expect(record).toMatchObject({ by: 'ada', event: 'tool:pre', more: { dir: '/x' } });
      expect(stringifyJson(record?.data ?? {})).toContain('"n":1e400');
    }
  });

  it('keeps the session id where the key is a digest', () => {
    const session = 's'.repeat(300);
    const line = lineOf(body('').replace('"session_id":"s"', `"session_id":"${session}"`));
    expect(parseLine(line, encodeKey('w', session)).record?.session).toBe(session);
  });

  it('reads back any data and any ids', () => {
    const id = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(fc.json(), id, fc.option(id), (json, event, eventId) => {
        fc.pre(event.trim() !== '');
        const data = `{"timestamp":"${timestamp}","session_id":"s","x":${json}}`;
        const text = `{"event":${JSON.stringify(event)},"workspace":"w","event_id":${JSON.stringify(eventId)},"data":${data}}`;
        const { record } = parseLine(lineOf(text), encodeKey('w', 's'));
        expect(record).toMatchObject({ event, id: eventId ?? undefined });
        expect(canonicalJson(record?.data ?? null)).toBe(canonicalJson(parseJson(data)));
      }),
    );
  });

  it('says what is wrong with a line that is none', () => {
    const key = encodeKey('w', 's');
    const good = Buffer.from(lineOf(body(''))).toString();
    const bad = [
      '',
      'x',
      '[]',
      good.slice(0, -1),
      good.replace('"v":1', '"v":2'),
      good.replace('"ev":', '"evil":'),
      good.replace('"data":{', '"data":1,"d":{'),
      good.replace('"ws":"w"', '"ws":null'),
      good.replace('"by":"ada"', '"by":7'),
    ];
    for (const text of bad) {
      const parsed = parseLine(Buffer.from(text), key);
      expect([text, parsed.record]).toEqual([text, undefined]);
      expect(parsed.fault).toMatch(/\w/);
    }
    expect(parseLine(Uint8Array.from([0x7b, 0xff, 0x7d]), key).fault).toContain('UTF-8');
  });
});

describe('content digest', () => {
  it('is that of event name and data as JSON values: order, space and extra members do not count (ING-517)', () => {
    const base = contentDigest(lineOf(body(',"a":1,"b":{"x":[1.0],"y":"é"}')));
    expect(base).toMatch(/^[0-9a-f]{64}$/);
    const same = body(
      ',"b": {"y":"\\u00e9", "x":[1]}, "a":1.00',
      ',"event_id":"e","working_dir":"/x"',
    );
    expect(contentDigest(lineOf(same))).toBe(base);
    expect(contentDigest(buildLine(eventOf(same), { acceptedAt: 'later', by: null }))).toBe(base);
  });

  it('of a line in another form is that of its whole value', () => {
    expect(contentDigest(Buffer.from('{"a": 1, "b": 2}'))).toBe(
      contentDigest(Buffer.from('{"b":2,"a":1.0}')),
    );
    expect(contentDigest(Buffer.from('{"a":1}'))).not.toBe(contentDigest(Buffer.from('{"a":2}')));
  });

  it('differs where a value or the event name does, also beyond what a double holds', () => {
    const digests = [
      body(',"a":1'),
      body(',"a":2'),
      body(',"a":"1"'),
      body(',"a":9007199254740993'),
      body(',"a":9007199254740992'),
      body(',"a":1').replace('tool:pre', 'tool:post'),
    ].map((text) => contentDigest(lineOf(text)));
    expect(new Set(digests).size).toBe(digests.length);
  });
});
