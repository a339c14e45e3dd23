import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, type JsonObject } from '#base';
import {
  createTranslator,
  eventKey,
  translateLine,
  type SourceDefaults,
  type Translated,
} from '#formats';
import { parseEvent } from '#record';

const folder = join(import.meta.dirname, '../data/amplifier');

function linesOf(file: string): readonly string[] {
  return readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
}

function translate(line: string | object, defaults: SourceDefaults = {}): Translated {
  return translateLine(
    Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)),
    defaults,
  );
}

function bodyOf(translated: Translated): Record<string, unknown> {
  if (translated.kind !== 'event') throw new Error(JSON.stringify(translated));
  return JSON.parse(translated.body) as Record<string, unknown>;
}

const timestamp = '2026-07-20T09:00:00.000000001+00:00';

describe('amplifier envelopes', () => {
  it('of the same events become the same events with the same ids', () => {
    const name = 'microsoft-amplifier-bundle-context-intelligence-63cc3feb';
    const ci = linesOf(`${name}-ci.jsonl`).map((line) => bodyOf(translate(line)));
    const workspace = ci[0]?.['workspace'] as string;
    const foundation = linesOf(`${name}-foundation.jsonl`).map((line) =>
      bodyOf(translate(line, { workspace })),
    );
    expect(foundation).toEqual(ci);
    expect(ci).toHaveLength(10);
    expect(new Set(ci.map((body) => body['event_id'])).size).toBe(10);
  });

  it('get the id that the hook client itself sends, so that both doors meet (D21)', () => {
    const bodies = linesOf('made-post-events-bodies-normal-turn-with-retries.ndjson').map(
      (line) => parseJson(line) as JsonObject,
    );
    for (const { event, workspace, data, idempotency_key } of bodies) {
      expect(eventKey(workspace as string, event as string, JSON.stringify(data))).toBe(
        idempotency_key,
      );
    }
    expect(bodies).toHaveLength(23);
    const [workspace] = bodies.map((body) => body['workspace'] as string);
    const log = linesOf('danshapiro-freshell-normal-turn.jsonl').map((line) =>
      bodyOf(translate(line, { workspace })),
    );
    const keys = new Set(bodies.map((body) => body['idempotency_key']));
    expect(new Set(log.map((body) => body['event_id']))).toEqual(keys);
  });

  it('all become events that admission takes', () => {
    const files = [
      'danshapiro-freshell-kill9-orphan.jsonl',
      'microsoft-amplifier-agent-3a7c1e90-events-type-envelope.jsonl',
      'microsoft-amplifier-agent-c37652eb-events.part1of3.jsonl',
      'made-nested-delegation-two-parallel.ndjson',
    ];
    for (const file of files) {
      const lines = linesOf(file);
      for (const line of lines) {
        const translated = translate(line, { workspace: 'w' });
        if (translated.kind !== 'event') throw new Error(`${file}: ${JSON.stringify(translated)}`);
        const bytes = Buffer.from(translated.body);
        const { event, faults } = parseEvent(parseJson(bytes), bytes);
        expect(faults).toBeUndefined();
        expect(event).toMatchObject({ isDerivedId: true, hasSession: true });
        expect(translated.body).not.toContain('\n');
      }
    }
  });

  it('pass a ready body on as it is, id and all', () => {
    const line = `{"event":"e","workspace":"w", "working_dir":"/x","idempotency_key":"k","data":{"session_id":"s","timestamp":"${timestamp}"}}`;
    expect(translate(line)).toEqual({ kind: 'event', body: line });
  });

  it('give a body without an id a derived one, and its other members stay', () => {
    const line = `{"event":"e","workspace":"w","working_dir":"/x","idempotency_key":null,"data":{"session_id":"s","timestamp":"${timestamp}","n":1.0}}`;
    const body = bodyOf(translate(line));
    expect(body).toMatchObject({ working_dir: '/x', derived_id: true });
    expect(body['event_id']).toBe(
      eventKey('w', 'e', `{"session_id":"s","timestamp":"${timestamp}","n":1.0}`),
    );
  });

  it('put back into data what the foundation log promoted, in its own bytes', () => {
    const line = `{"ts": "${timestamp}", "lvl": "INFO", "schema": {"name": "amplifier.log"}, "event": "llm:response", "status": "ok", "duration_ms": 12345678901234567890, "session_id": "s", "data": {"a": "\\u00e9"}}`;
    const translated = translate(line, { workspace: 'w' });
    expect(translated).toMatchObject({
      body: expect.stringContaining(
        `"data":{"a": "\\u00e9","status":"ok","duration_ms":12345678901234567890,"session_id":"s","timestamp":"${timestamp}"}`,
      ) as string,
    });
    expect(bodyOf(translated)).not.toHaveProperty('lvl');
    expect(
      bodyOf(translate({ ts: timestamp, event: 'e', session_id: 's' }, { workspace: 'w' }))['data'],
    ).toEqual({ session_id: 's', timestamp });
  });

  it('take workspace and session from the caller only where a line names none', () => {
    const given = { workspace: 'mine', session: 'mine' };
    const named = bodyOf(
      translate({ event: 'e', workspace: 'w', data: { session_id: 's', timestamp } }, given),
    );
    expect(named).toMatchObject({ workspace: 'w', data: { session_id: 's' } });
    const bare = bodyOf(translate({ event: 'e', data: { timestamp } }, given));
    expect(bare).toMatchObject({ workspace: 'mine', data: { session_id: 'mine' } });
    const extra = bodyOf(translate({ event: 'e', x: 1, data: { timestamp } }, given));
    expect(extra).toMatchObject({
      workspace: 'mine',
      x: 1,
      data: { session_id: 'mine', timestamp },
    });
    const log = bodyOf(translate({ ts: timestamp, event: 'e' }, given));
    expect(log).toMatchObject({ workspace: 'mine', data: { session_id: 'mine', timestamp } });
    expect(translate({ ts: timestamp, event: 'e' })).toMatchObject({
      kind: 'reject',
      code: 'EVENT_INVALID',
    });
  });

  it('take the time at the top of a log line whose data has none', () => {
    const body = bodyOf(
      translate({ event: 'e', workspace: 'w', timestamp, data: { session_id: 's' } }),
    );
    expect(body).toMatchObject({ data: { session_id: 's', timestamp } });
    expect(body).not.toHaveProperty('timestamp');
  });

  it('refuse what is no event, by the code that admission would give, and pass over empty lines', () => {
    const { translate: next } = createTranslator({ workspace: 'w' });
    const kinds = (lines: readonly string[]): readonly string[] =>
      lines.map((line) => {
        const translated = next(Buffer.from(line));
        return translated.kind === 'reject' ? translated.code : translated.kind;
      });
    expect(kinds(['', ' \t\r'])).toEqual(['skip', 'skip']);
    expect(kinds(['{"event":"e"', 'plain text', '\u0000'])).toEqual(
      Array.from({ length: 3 }, () => 'RECORD_NOT_JSON'),
    );
    expect(
      kinds([
        '[]',
        '7',
        '{}',
        '{"type":"user"}',
        '{"event":7,"data":{}}',
        '{"event":"e","workspace":"w"}',
        `{"ts":"${timestamp}","event":"e","data":[]}`,
      ]),
    ).toEqual(Array.from({ length: 7 }, () => 'EVENT_INVALID'));
    const transcript = linesOf('microsoft-amplifier-agent-c37652eb-transcript.jsonl');
    expect(new Set(kinds(transcript))).toEqual(new Set(['EVENT_INVALID']));
    const deep = `{"event":"e","data":${'['.repeat(5000)}${']'.repeat(5000)}}`;
    expect(kinds([deep])).toEqual(['RECORD_NOT_JSON']);
    expect(next(Uint8Array.of(0x7b, 0xff, 0x7d))).toMatchObject({ code: 'RECORD_NOT_JSON' });
  });
});

describe('derived event ids', () => {
  it('do not depend on the order of members or on white space, but on every value', () => {
    const value = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { maxKeys: 6 });
    fc.assert(
      fc.property(value, (data) => {
        const reversed = Object.fromEntries(Object.entries(data).reverse());
        const key = eventKey('w', 'e', JSON.stringify(data));
        expect(eventKey('w', 'e', JSON.stringify(reversed, undefined, 2))).toBe(key);
        expect(eventKey('w', 'f', JSON.stringify(data))).not.toBe(key);
        expect(eventKey('v', 'e', JSON.stringify(data))).not.toBe(key);
        expect(eventKey('w', 'e', JSON.stringify({ ...data, more: 1 }))).not.toBe(
          eventKey('w', 'e', JSON.stringify({ ...data, more: 2 })),
        );
      }),
    );
  });

  it('are those that Python makes: numbers as written, ASCII escapes, code-point order', () => {
    const data =
      '{"\\ud83d\\ude00": 1e-07, "\\uffff": 1.0, "é": -0.0, "z": [true, null, 12345678901234567890, "\\u007f\\u2028"]}';
    expect(eventKey('w', 'e', data)).toBe(
      'aci-event-v1:398f70ff589d3fedf2adfde5f15b6ec360ac02f8c9a20d4a073d07e76214ae81',
    );
  });
});
