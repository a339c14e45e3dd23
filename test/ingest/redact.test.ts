import { afterEach, describe, expect, it } from 'vitest';
import { parseRedactRule, parseRedactRules } from '#config';
import { valuesRedacted } from '#signals';
import { createRedactor } from '../../src/ingest/redact.ts';
import { parseJson, type JsonObject } from '#base';
import { parseEvent } from '#record';
import { ingestBench, event, post } from './ingest-fixture.ts';

/** The event as it is stored, and how often each rule took something out. */
function redacted(
  rules: readonly string[],
  data: object,
  more: object = {},
): { text: string; counts: Record<string, number> } {
  const bytes = Buffer.from(event(more as Record<string, unknown>, data));
  const { event: accepted } = parseEvent(parseJson(bytes), bytes);
  const redactor = createRedactor(parseRedactRules(rules));
  if (accepted === undefined || redactor === undefined) throw new Error('nothing to do');
  const counts = new Map<string, number>();
  const { dataBytes, moreBytes } = redactor(accepted, counts);
  const text = `${Buffer.from(dataBytes).toString('utf8')}${Buffer.from(moreBytes ?? []).toString('utf8')}`;
  return { text, counts: Object.fromEntries(counts) };
}

/** Made up, each in the form of its maker. */
const keys: readonly string[] = [
  'sk-ant-api03-Canary0123456789abcdef',
  'sk-proj-Canary0123456789abcdefghij',
  'ghp_Canary0123456789abcdefghijkl',
  'AKIACANARY0123456789',
  'xoxb-1234567890-canary',
  'eyJhbGciOiJI.eyJzdWIiOiJj.canarysignature',
  'Bearer canary-0123456789abcdef',
  '-----BEGIN RSA PRIVATE KEY-----\nCanaryMIIE0123456789+/=\n-----END RSA PRIVATE KEY-----',
];

describe('redaction', () => {
  it('takes out keys by their form, wherever they stand: in texts, lists, names and behind escapes', () => {
    for (const key of keys) {
      const data = { text: `before ${key} after`, deep: [{ list: [key] }], [`name ${key}`]: 1 };
      const { text, counts } = redacted(['keys'], data, { working_dir: `/x/${key}` });
      expect([key, /canary/i.test(text)]).toEqual([key, false]);
      expect(text).toContain('before [REDACTED:keys] after');
      expect(counts).toEqual({ keys: 4 });
    }
    const escaped = event({}, { text: 'x' }).replace(
      '"x"',
      '"\\u0073k-ant-api03-Canary0123456789abcdef"',
    );
    const { event: accepted } = parseEvent(parseJson(escaped), Buffer.from(escaped));
    const out =
      accepted === undefined
        ? undefined
        : createRedactor(parseRedactRules(['keys']))?.(accepted, new Map());
    expect(Buffer.from(out?.dataBytes ?? []).toString('utf8')).toContain('[REDACTED:keys]');
  });

  it('takes out what its name says is a secret, in members and within texts', () => {
    const { text } = redacted(['secrets'], {
      tool_input: {
        env: { DB_PASSWORD: 'canary-1', region: 'eu' },
        headers: { Authorization: 'canary-2' },
      },
      command: 'export API_KEY=canary-3; curl -H "x: y" https://user:canary-4@host/path',
      body: '{"client_secret": "canary-5"}',
      usage: { input_tokens: 5 },
    });
    expect(text).not.toContain('canary');
    for (const kept of [
      '"region":"eu"',
      'export API_KEY=',
      'https://[REDACTED:secrets]@host/path',
      '"input_tokens":5',
    ])
      expect(text).toContain(kept);
  });

  it('takes out matches of patterns and values at paths, and never what places an event', () => {
    const rules = ['/canary-\\d+/i', '$.data.tool_input.env.*', '$.data.**.inner', '/20\\d\\d/'];
    const { text, counts } = redacted(rules, {
      session_id: 's',
      note: 'CANARY-17 stays out',
      tool_input: { env: { A: { deep: 1 }, B: 'x' } },
      far: [{ away: { inner: 'gone' } }],
    });
    expect(counts).toEqual({ pattern: 1, path: 3 });
    expect(text).toContain('"session_id":"s"');
    expect(text).toMatch(/"timestamp":"20/);
    expect(text).toContain('"env":{"A":"[REDACTED:path]","B":"[REDACTED:path]"}');
  });

  it('leaves events without a find as they are, byte for byte, numbers beyond a double too', () => {
    const bytes = Buffer.from(
      '{"event":"a","workspace":"w","data":{"timestamp":"2026-01-01","n":12345678901234567890,  "x":1.0}}',
    );
    const { event: accepted } = parseEvent(parseJson(bytes), bytes);
    if (accepted === undefined) throw new Error('no event');
    const redactor = createRedactor(parseRedactRules(['keys', 'secrets']));
    expect(redactor?.(accepted, new Map())).toBe(accepted);
    const changing = createRedactor(parseRedactRules(['$.data.x']))?.(accepted, new Map());
    expect(Buffer.from(changing?.dataBytes ?? []).toString('utf8')).toContain(
      '"n":12345678901234567890',
    );
  });

  it('is off without rules, and refuses what is none by its reason', () => {
    expect(createRedactor([])).toBeUndefined();
    for (const wrong of ['key', '/open', '/(/', '/a*/', '$.', '$.data..x', '$.data.timestamp'])
      expect([wrong, typeof parseRedactRule(wrong)]).toEqual([wrong, 'string']);
  });

  it('runs in linear time over texts that are made to be slow', () => {
    const hostile = [
      '-----BEGIN PRIVATE KEY-----'.repeat(2000),
      'api_key_'.repeat(5000),
      `${'a_'.repeat(40_000)}password`,
      '://a:b'.repeat(8000),
      `${' '.repeat(60_000)}=`,
    ];
    for (const text of hostile) {
      const beganMs = performance.now();
      redacted(['keys', 'secrets'], { text });
      // Quadratic work on these takes minutes; a busy machine is forgiven.
      expect([text.slice(0, 12), performance.now() - beganMs < 5000]).toEqual([
        text.slice(0, 12),
        true,
      ]);
    }
  });
});

const subscriptions: (() => void)[] = [];
afterEach(() => {
  for (const off of subscriptions.splice(0)) off();
});

describe('redaction at admission', () => {
  it('happens before the append, is counted, and changes with the rules', async () => {
    let rules = parseRedactRules(['keys']);
    const bench = ingestBench({ redactRules: () => rules });
    const counted: Record<string, number>[] = [];
    subscriptions.push(valuesRedacted.subscribe(({ counts }) => counted.push({ ...counts })));
    const [key = ''] = keys;
    await post(bench, event({ event_id: 'a' }, { key, again: key }));
    rules = [];
    await post(bench, event({ event_id: 'b' }, { key }));
    const stored = (await bench.stored()).map((line: JsonObject) => JSON.stringify(line));
    expect(stored.map((line) => line.includes(key))).toEqual([false, true]);
    expect(counted).toEqual([{ keys: 2 }]);
  });
});
