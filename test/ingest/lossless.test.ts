import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, parseJson, stringifyJson, type JsonObject, type JsonValue } from '#base';
import { ingestBench, post, postLines, statuses, timestamp } from './ingest-fixture.ts';

/** Everything that JSON allows between two tokens. */
const gap = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });

/** Numbers that a double holds, and many that it does not; each keeps its text. */
const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
  fc.constantFrom('0', '-0', '1e5', '1E+5', '0.1', '1.10', '9007199254740993', '1e400', '0.1e-400'),
);

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '"\\u0041\\/\\b\\f"',
    '"\\ud800"',
    '"\u2028\u2029\u0085"',
    '"\\"\\\\"',
    '"\\u0000"',
    '"__proto__"',
    '"\u{1F600}"',
  ),
);

const { value: jsonText } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom('true', 'false', 'null'),
    number,
    text,
    tie('list'),
    tie('object'),
  ),
  list: fc
    .tuple(fc.array(tie('value'), { maxLength: 3 }), gap)
    .map(([items, space]) => `[${space}${items.join(`${space},${space}`)}${space}]`),
  object: fc
    .tuple(fc.array(fc.tuple(text, tie('value')), { maxLength: 3 }), gap)
    .map(([members, space]) => {
      const inside = members.map(([name, value]) => `${name}${space}:${space}${value}`);
      return `{${space}${inside.join(`,${space}`)}${space}}`;
    }),
}));

/** Names that admission knows would change what the event is. */
const otherName = text.filter(
  (name) =>
    !/^(event|workspace|session_id|event_id|idempotency_key|derived_id|data)$/.test(
      JSON.parse(name) as string,
    ),
);
const otherMembers = fc.array(fc.tuple(otherName, jsonText), { maxLength: 3 });
const dataName = text.filter(
  (name) => !/^(session_id|timestamp)$/.test(JSON.parse(name) as string),
);
const dataMembers = fc.array(fc.tuple(dataName, jsonText), { maxLength: 4 });

function writeEvent(
  data: readonly (readonly [string, string])[],
  others: readonly (readonly [string, string])[],
  space: string,
): string {
  const members = (list: readonly (readonly [string, string])[]): string =>
    list.map(([name, value]) => `,${space}${name}${space}:${value}`).join('');
  return `${space}{"event":${space}"e","workspace":"w"${members(others)},"data":{${space}"session_id":"s","timestamp":"${timestamp}"${members(data)}}${space}}${space}`;
}

/** As JSON.parse would see it, numbers by their text, members in order. */
function seen(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : stringifyJson(value);
}

function expectSame(sent: string, line: JsonObject | undefined): void {
  const event = parseJson(sent);
  if (!isJsonObject(event)) throw new Error('the test sends objects');
  const { event: _, workspace: __, data, ...others } = event;
  expect(seen(line?.['data'])).toBe(seen(data));
  const more = Object.keys(others).length === 0 ? undefined : others;
  expect(seen(line?.['more'])).toBe(seen(more));
}

describe('what is stored', () => {
  it('has the same JSON value as what was sent, whatever its form (ING-919)', async () => {
    await fc.assert(
      fc.asyncProperty(dataMembers, otherMembers, gap, async (data, others, space) => {
        const bench = ingestBench();
        const sent = writeEvent(data, others, space);
        expect(statuses(await post(bench, sent))).toEqual(['queued']);
        const [line] = await bench.stored();
        expectSame(sent, line);
      }),
      { numRuns: 500 },
    );
  });

  it('has it in batches too, as lines and as an array', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(dataMembers, otherMembers), { minLength: 1, maxLength: 5 }),
        async (events) => {
          const sent = events.map(([data, others]) => writeEvent(data, others, ' '));
          const flat = sent.map((one) => one.replaceAll(/[\r\n]/g, ' '));
          const lines = ingestBench();
          await postLines(lines, flat);
          const array = ingestBench();
          await post(array, `[${sent.join(',')}]`);
          for (const bench of [lines, array]) {
            const stored = await bench.stored();
            expect(stored).toHaveLength(sent.length);
            for (const [at, one] of sent.entries()) expectSame(one, stored[at]);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('keeps the text of numbers and escapes, and turns line breaks between tokens into spaces', async () => {
    const bench = ingestBench();
    const body = `{"event":"e","workspace":"w","data":{\r\n "session_id":"s",\n"timestamp":"${timestamp}","n":12345678901234567890,"x":"\\u2028\\ud83d","d":1,"d":2}}`;
    await post(bench, body);
    const [key] = await bench.queue.activeKeys();
    const batch = await bench.queue.readBatch(key as never, { records: 1, bytes: 2 ** 20 });
    const raw = Buffer.from(batch.items[0]?.raw ?? []).toString('utf8');
    expect(raw).not.toMatch(/[\r\n]/);
    expect(raw).toContain('"n":12345678901234567890,"x":"\\u2028\\ud83d","d":1,"d":2}');
  });
});
