import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

/** Made up, in the form of a real one; every place of an event gets another. */
const key = (place: string): string => `sk-ant-api03-canary${place}0123456789abcdef`;
/** What no rule takes out: shows that the search finds what is there. */
const visible = 'visible-marker-7c1e';

const at = { timestamp: '2026-05-01T10:00:00Z' };

function event(session: string, name: string, data: object, more: object = {}): string {
  return JSON.stringify({
    event: name,
    workspace: 'w',
    ...more,
    data: { session_id: session, ...at, ...data },
  });
}

async function send(
  daemon: ChildDaemon,
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<number> {
  const answer = await fetch(`${daemon.url}${path}`, {
    method: path.startsWith('/v1/wait') ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === '' ? {} : { body }),
  });
  await answer.text();
  return answer.status;
}

/** Through every door, into every place that keeps something. */
async function exercise(daemon: ChildDaemon): Promise<readonly number[]> {
  const large = `${'x'.repeat(50_000)} ${key('Object')} ${visible}`;
  const attributes = [{ key: 'input.value', value: { stringValue: key('Otlp') } }];
  const span = {
    traceId: '5b8efff798038103d269b633813fc60c',
    spanId: 'eee19b7ec3c1b174',
    name: 'x',
    startTimeUnixNano: '1787220000000000000',
    attributes,
  };
  const hook = {
    session_id: 'h',
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_use_id: 't',
    tool_input: { command: key('Hook') },
  };
  const cloud = {
    specversion: '1.0',
    id: 'c',
    source: '/x',
    type: 'x:y',
    partition: key('Cloud'),
    data: { session_id: 'c', ...at },
  };
  return [
    await send(
      daemon,
      '/v1/events',
      event(
        's',
        'session:start',
        { text: key('Log'), password: 'canary-member-9' },
        { working_dir: key('More') },
      ),
    ),
    await send(
      daemon,
      '/v1/events',
      event('s', 'tool:post', { tool_call_id: 't', result: { output: large } }),
    ),
    await send(daemon, '/events', event('p', 'session:fork', { parent: 'p', text: key('Letter') })),
    await send(daemon, '/v1/events', event('s', 'x:hidden', { hidden: 'canary-path-9' })),
    await send(
      daemon,
      '/v1/traces',
      JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
    ),
    await send(daemon, '/v1/hooks/claude-code', JSON.stringify(hook)),
    await send(daemon, '/v1/events', JSON.stringify(cloud), {
      'content-type': 'application/cloudevents+json',
    }),
    await send(daemon, '/v1/wait?until=idle', ''),
  ];
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe('redaction', () => {
  it('leaves nothing that a rule takes out in any file of the root, nor in the log', async () => {
    await withTemporaryDirectory(async (folder) => {
      const root = join(folder, 'root');
      const args = [
        '--set',
        'ingest.redact=keys,secrets,$.data.hidden',
        '--set',
        'log.level=debug',
      ];
      const daemon = await startDaemon({ root, args });
      try {
        expect(await exercise(daemon)).toEqual([202, 202, 202, 202, 200, 204, 202, 200]);
        const metrics = await (await fetch(`${daemon.url}/metrics`)).text();
        expect(metrics).toMatch(/millrace_ingest_redactions_total\{rule="keys"\} \d/);
        const letters = await (await fetch(`${daemon.url}/v1/dead-letters`)).text();
        expect(letters).toContain('EVENT_CONTRADICTS');
        const id = /"id":"([^"]+)"/.exec(letters)?.[1] ?? '';
        const mended = { event: event('p', 'session:fork', { parent: 's', text: key('Edited') }) };
        const path = `/v1/dead-letters/${encodeURIComponent(id)}/edit`;
        expect(await send(daemon, path, JSON.stringify(mended))).toBe(202);
        expect(await send(daemon, '/v1/wait?until=idle', '')).toBe(200);
        const readable = filesBelow(root).map((path) => readFileSync(path));
        expect(await daemon.stop()).toBe(0);
        const contents = [
          ...readable,
          ...filesBelow(root).map((path) => readFileSync(path)),
          Buffer.from(daemon.output()),
        ];
        expect(contents.some((bytes) => bytes.includes(visible))).toBe(true);
        expect(contents.filter((bytes) => bytes.includes('canary'))).toEqual([]);
      } finally {
        await daemon.kill();
      }
    });
  });
});
