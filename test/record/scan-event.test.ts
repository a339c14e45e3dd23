import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '#base';
import { parseEvent, scanEvent, type ParsedEvent } from '#record';

const depthMax = 64;

/** Undefined where the event is left to `parseJson`. */
function scanned(bytes: Uint8Array): ParsedEvent | undefined {
  const found = scanEvent(bytes, depthMax);
  return found === undefined ? undefined : parseEvent(found.value, bytes, {}, found.members);
}

/** An event that is taken by the one way is the same by the other. */
function expectSame(bytes: Uint8Array): boolean {
  const fast = scanned(bytes);
  if (fast?.event === undefined) return false;
  expect(fast).toEqual(parseEvent(parseJson(bytes, { depthMax }), bytes));
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
    expect(scanned(Buffer.from(twice))?.event).toMatchObject({ workspace: 'last', session: 'z' });
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
    expect(scanEvent(bytes, depthMax)).toBeUndefined();
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
    const { event } = scanned(bytes) ?? {};
    bytes.fill(0x20);
    expect(event).toMatchObject({ session: 's', eventId: 'e-1', workspace: 'w' });
  });
});
