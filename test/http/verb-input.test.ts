import { expect, it } from 'vitest';
import { verbs } from '#ops';
import { createInputReader } from '../../src/http/verb-input.ts';

function refusal(verb: string, query: Readonly<Record<string, string>>): string {
  const schema = verbs.find(({ name }) => name === verb)?.input;
  if (schema === undefined) throw new Error(`there is no verb "${verb}"`);
  try {
    createInputReader(schema)({ path: {}, query, body: undefined });
  } catch (error) {
    return String(error);
  }
  return 'none';
}

it('names the values that there are, where one is none of them, and shows nobody a pattern', () => {
  expect(refusal('stream', { kinds: 'foo' })).toContain(
    'kinds must be a list, parted by commas, of accepted, applied, dead, quarantine, health, books',
  );
  expect(refusal('stream', { kinds: 'dead,books' })).toBe('none');
  expect(refusal('sessions list', { state: 'asleep' })).toContain(
    'state must be one of active, quarantined, backlog, dead, ended',
  );
  expect(refusal('retention run', { part: 'all' })).toContain(
    'part must be one of graph, objects, archives, letters',
  );
});
