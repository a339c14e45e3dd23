import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const at = '2026-05-01T10:00:00Z';
const large = 'x'.repeat(40_000);

function event(session: string, name: string, id: string, data: object = {}): string {
  return JSON.stringify({
    event: name,
    workspace: 'w',
    event_id: `${session}-${id}`,
    data: { session_id: session, timestamp: at, ...data },
  });
}

/** A parent that delegates, its child with a large value and a dead letter, and a session that shares the value of another. */
export const parentEvents: readonly string[] = [
  event('parent', 'session:start', 'start'),
  event('parent', 'delegate:agent_spawned', 'spawn', {
    sub_session_id: 'child',
    agent: 'builder',
    tool_call_id: 'c1',
  }),
  event('parent', 'prompt:submit', 'prompt', { prompt: `shared ${large}` }),
];
export const childEvents: readonly string[] = [
  event('child', 'session:start', 'start', { parent_id: 'parent' }),
  event('child', 'prompt:submit', 'prompt', { prompt: `own ${large}` }),
  event('child', 'prompt:submit', 'shared', { prompt: `shared ${large}` }),
  event('child', 'session:fork', 'poison', { parent: 'child' }),
  event('child', 'session:end', 'end'),
];

/** Objects that a root holds. */
export function objectsOf(root: string): readonly string[] {
  return readdirSync(join(root, 'objects', 'values'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => /[0-9a-f]{64}$/.test(name),
  );
}
