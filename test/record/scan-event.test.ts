import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, scanSource } from '#base';
import { parseEvent, scanEvent, type AcceptedEvent, type EventFrame } from '#record';

const depthMax = 64;

/** Undefined where the event is left to `parseJson`. */
function scanned(bytes: Uint8Array, frame: EventFrame = {}): AcceptedEvent | undefined {
  return scanEvent(scanSource(bytes), 0, bytes.byteLength, { frame, depthMax });
}

/** An event that is taken by the one way is the same by the other. */
function expectSame(bytes: Uint8Array, frame: EventFrame = {}): boolean {
  const event = scanned(bytes, frame);
  if (event === undefined) return false;
  expect({ event }).toEqual(parseEvent(parseJson(bytes, { depthMax }), bytes, frame));
  return true;
}

const timestamp = '2026-07-20T09:00:00Z';
const good = {
  event: 'tool:pre',
  workspace: 'w',
  event_id: 'e-1',
  data: { session_id: 's', timestamp, tool_name: 'x', n: [1, { timestamp: 'inner' }] },
  extra: { a: 1 },
};

const folder = join(import.meta.dirname, '../data');

function recordedLines(): readonly string[] {
  const lines: string[] = [];
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (file.endsWith('.jsonl'))
      lines.push(...readFileSync(join(folder, file), 'utf8').split('\n'));
  return lines.filter((line) => line.startsWith('{'));
}

describe('scanEvent', () => {
  it('finds in recorded lines what parsing them finds, as the data of an event', () => {
    let taken = 0;
    const lines = recordedLines();
    for (const line of lines) {
      const text = `{"event":"x","workspace":"w","session_id":"s","data":{"timestamp":"${timestamp}","line":${line}}}`;
      if (expectSame(Buffer.from(text))) taken += 1;
    }
    // Some of these files are damaged on purpose.
    expect(taken).toBeGreaterThan(lines.length * 0.8);
  });

  it('takes an event whose texts have escapes or lie beyond ASCII', () => {
    for (const session of ['sü', 'a"b', 'back\\slash', '🦀', '\u2028'])
      expect(
        expectSame(
          Buffer.from(JSON.stringify({ ...good, data: { ...good.data, session_id: session } })),
        ),
      ).toBe(true);
    expect(
      expectSame(Buffer.from(JSON.stringify(good).replace('"e-1"', String.raw`"\u0065-1"`))),
    ).toBe(true);
  });

  it('takes the last of members with one name, as JSON.parse does', () => {
    const text = JSON.stringify(good);
    const twice = `${text.slice(0, -1)},"workspace":"last","data":{"session_id":"other","session_id":"z","timestamp":"${timestamp}"}}`;
    expect(expectSame(Buffer.from(twice))).toBe(true);
    expect(scanned(Buffer.from(twice))).toMatchObject({ workspace: 'last', session: 'z' });
  });

  it.each([
    [
      'bytes that are not UTF-8',
      Buffer.from(JSON.stringify(good).replace('"x"', '"\u00e9"'), 'latin1'),
    ],
    ['data that is no object', Buffer.from(JSON.stringify({ ...good, data: 1 }))],
    ['no data', Buffer.from('{"event":"x","workspace":"w"}')],
    ['a number for an id', Buffer.from(JSON.stringify({ ...good, event_id: 1 }))],
    ['an object for a session', Buffer.from(JSON.stringify({ ...good, session_id: {} }))],
    ['an array for a timestamp', Buffer.from(JSON.stringify({ ...good, data: { timestamp: [] } }))],
  ])('leaves %s to be told by name', (_, bytes) => {
    expect(scanned(bytes)).toBeUndefined();
  });

  it('never takes an event that differs from what parsing makes of it', () => {
    const member = fc.constantFrom(
      'event',
      'workspace',
      'session_id',
      'event_id',
      'idempotency_key',
      'derived_id',
      'data',
      'timestamp',
      'other',
    );
    const value = fc.oneof(
      fc.constantFrom<unknown>('s', '', null, true, false, 1, timestamp, [], {}, 'e"\\'),
      fc.dictionary(member, fc.constantFrom<unknown>('s', 't', null, timestamp, 2), { maxKeys: 4 }),
    );
    const change = fc.tuple(member, value);
    let taken = 0;
    fc.assert(
      fc.property(fc.array(change, { maxLength: 3 }), (changes) => {
        const added = changes.map(([key, of]) => `${JSON.stringify(key)}:${JSON.stringify(of)}`);
        const text = JSON.stringify(good);
        if (
          expectSame(Buffer.from(`${text.slice(0, -1)}${added.map((one) => `,${one}`).join('')}}`))
        )
          taken += 1;
      }),
      { numRuns: 2000 },
    );
    expect(taken).toBeGreaterThan(200);
  });

  it('makes texts of its own, which hold no part of the body', () => {
    const bytes = Buffer.from(JSON.stringify(good));
    const event = scanned(bytes);
    bytes.fill(0x20);
    expect(event).toMatchObject({ session: 's', eventId: 'e-1', workspace: 'w' });
  });

  it('tells each of many sessions by its own name, also when it comes again', () => {
    for (let round = 0; round < 2; round += 1)
      for (let at = 0; at < 6000; at += 1) {
        const session = `s-${at}`;
        const text = `{"event":"e","workspace":"w${at % 7}","session_id":"${session}","data":{"timestamp":"${timestamp}"}}`;
        const event = scanned(Buffer.from(text));
        if (event?.session !== session || event.workspace !== `w${at % 7}`)
          expect({ session, event }).toBeUndefined();
      }
  });

  it('takes what the request says of all its events into account, as parsing does', () => {
    const bytes = Buffer.from(JSON.stringify(good));
    expect(expectSame(bytes, { session: 's', eventId: 'e-1' })).toBe(true);
    expect(expectSame(bytes, { session: 'other' })).toBe(false);
    expect(expectSame(bytes, { eventId: 'other' })).toBe(false);
    const bare = JSON.stringify({ ...good, event_id: undefined, data: { timestamp } });
    expect(expectSame(Buffer.from(bare), { session: 'sü', eventId: '"' })).toBe(true);
  });

  it('takes the event alone that stands between its places', () => {
    const bytes = Buffer.from(JSON.stringify(good));
    const body = Buffer.concat([bytes, Buffer.from('\n'), bytes, bytes]);
    const at = (start: number, end: number): AcceptedEvent | undefined =>
      scanEvent(scanSource(body), start, end, { frame: {}, depthMax });
    const first = at(0, bytes.length);
    expect(first).toEqual(scanned(bytes));
    expect(at(bytes.length + 1, bytes.length * 2 + 1)).toEqual(first);
    expect(at(bytes.length + 1, body.length)).toBeUndefined();
    expect(at(0, bytes.length - 1)).toBeUndefined();
    expect(at(0, bytes.length + 1)).toBeUndefined();
  });
});
