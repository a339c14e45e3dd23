import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const large = 'x'.repeat(40_000);

/** An ended session of a day long ago, with a large value of its own and a dead letter. */
export function oldEvents(session: string, day = '2025-02-03'): readonly string[] {
  const event = (name: string, second: number, data: object = {}): string =>
    JSON.stringify({
      event: name,
      workspace: 'w',
      event_id: `${session}-${second}`,
      data: { session_id: session, timestamp: `${day}T10:00:0${second}Z`, ...data },
    });
  return [
    event('session:start', 0),
    event('prompt:submit', 1, { prompt: `${session} ${large}` }),
    event('session:fork', 2, { parent: session }),
    event('session:end', 3),
  ];
}

/** Names of files below a root's queue that match. */
export function queueFiles(root: string, pattern: RegExp): readonly string[] {
  return readdirSync(join(root, 'queue', 'sessions'), {
    recursive: true,
    encoding: 'utf8',
  }).filter((name) => pattern.test(name));
}
