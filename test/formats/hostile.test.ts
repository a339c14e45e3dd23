import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#base';
import { graphOf, sampleBytes, translateBytes, dataFolder } from './translate-file.ts';

const encode = (rows: readonly unknown[]): Uint8Array =>
  Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'));

/** Ids that are members of every object in JavaScript. */
const builtIn = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];

describe('ids that a client has chosen', () => {
  it.each(builtIn)('may be %s in a transcript of Claude Code', async (id) => {
    const at = (second: number) => ({
      sessionId: id,
      timestamp: `2026-07-20T09:00:0${second}.000Z`,
      cwd: '/w',
    });
    const call = { type: 'tool_use', id, name: 'Bash', input: { command: 'ls' } };
    const result = { type: 'tool_result', tool_use_id: id, content: 'ok' };
    const { records, rejects } = await translateBytes(
      encode([
        { ...at(0), type: 'user', uuid: 'u1', message: { role: 'user', content: 'go' } },
        {
          ...at(1),
          type: 'assistant',
          uuid: id,
          message: { id: 'm', role: 'assistant', content: [call] },
        },
        { ...at(2), type: 'user', uuid: 'u3', message: { role: 'user', content: [result] } },
      ]),
    );
    expect(rejects).toEqual([]);
    const post = records.find(({ event }) => event === 'tool:post');
    expect(post).toBeDefined();
    expect(JSON.stringify(post)).toContain('Bash');
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it.each(builtIn)('may be %s in a rollout of Codex', async (id) => {
    const row = (second: number, type: string, payload: object) => ({
      timestamp: `2026-07-20T09:00:0${second}.000Z`,
      type,
      payload,
    });
    const { records, rejects } = await translateBytes(
      encode([
        row(0, 'session_meta', { id: 's', cwd: '/w' }),
        row(1, 'response_item', {
          type: 'function_call',
          name: 'shell',
          arguments: '{}',
          call_id: id,
        }),
        row(2, 'response_item', { type: 'function_call_output', call_id: id, output: 'ok' }),
      ]),
    );
    expect(rejects).toEqual([]);
    expect(JSON.stringify(records.find(({ event }) => event === 'tool:post'))).toContain('shell');
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

it('takes a payload that is null in a log of Amplifier for none', async () => {
  const line = { ts: '2026-07-20T09:00:00Z', event: 'a:b', session_id: 's', data: null };
  const { records, rejects } = await translateBytes(encode([line]));
  expect([records.length, rejects]).toEqual([1, []]);
});

/** Numbers from 0 to 1 that follow from a seed. */
function chanceOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const scalars: readonly JsonValue[] = [null, true, 0, -1, 1.5, 1e308, '', '\u0000', '\ud83d'];
const texts = [
  '𝕏'.repeat(50),
  '9'.repeat(400),
  '2026-13-45T99:99:99Z',
  '1970',
  'a::b__c',
  '../../x',
];
const shapes: readonly JsonValue[] = [[], {}, [1, 'a', null], { a: { b: [1] } }, [[[[1]]]]];
const strange: readonly JsonValue[] = [...scalars, ...texts, ...shapes, ...builtIn];

function mutated(value: JsonValue, chance: () => number): JsonValue {
  const other = (): JsonValue => strange[Math.floor(chance() * strange.length)] ?? null;
  if (chance() < 0.03) return other();
  if (Array.isArray(value)) return value.map((one: JsonValue) => mutated(one, chance));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(() => chance() > 0.03);
  return Object.fromEntries(members.map(([name, one]) => [name, mutated(one, chance)]));
}

const samples = ['amplifier', 'claude-code', 'claude-hooks', 'codex', 'otlp'].flatMap((folder) =>
  readdirSync(join(dataFolder, folder)).map((file) => `${folder}/${file}`),
);
const linesMost = 60;

describe('rows whose members are of other kinds than they should be', () => {
  it.each([1, 2])(
    'are read or refused, and never a defect, and their graph keeps its rules (seed %i)',
    async (seed) => {
      const chance = chanceOf(seed);
      for (const path of samples) {
        const lines = Buffer.from(sampleBytes(path)).toString('utf8').split('\n', linesMost);
        const rows = lines.flatMap((line) => {
          try {
            return [JSON.stringify(mutated(JSON.parse(line) as JsonValue, chance))];
          } catch {
            return [line];
          }
        });
        const { outcomes, records } = await translateBytes(Buffer.from(rows.join('\n')));
        const bugs = outcomes.filter(({ reject }) => reject?.message.includes('a bug') === true);
        expect(bugs.map(({ reject }) => `${path}: ${reject?.message}`)).toEqual([]);
        expect((await graphOf(records)).findings, path).toEqual([]);
      }
      expect(Object.keys(Object.prototype)).toEqual([]);
    },
  );
});
