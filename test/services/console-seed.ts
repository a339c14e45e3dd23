import { expect } from 'vitest';

type Data = Readonly<Record<string, unknown>>;

interface Event {
  readonly event: string;
  readonly workspace: string;
  readonly event_id: string;
  readonly data: Data;
}

/** Seconds of a session, one event after another. */
class Session {
  readonly events: Event[] = [];
  readonly id: string;
  readonly #workspace: string;
  readonly #beganMs: number;

  constructor(workspace: string, id: string, beganMs: number) {
    this.id = id;
    this.#workspace = workspace;
    this.#beganMs = beganMs;
  }

  add(event: string, data: Data = {}): this {
    const at = this.events.length;
    const timestamp = new Date(this.#beganMs + at * 2500).toISOString();
    this.events.push({
      event,
      workspace: this.#workspace,
      event_id: `${this.id}-${at}`,
      data: { session_id: this.id, timestamp, ...data },
    });
    return this;
  }

  turn(prompt: string, tools: readonly string[]): this {
    this.add('prompt:submit', { prompt }).add('execution:start');
    for (const [at, tool] of tools.entries()) {
      const call = { tool_name: tool, tool_call_id: `c${this.events.length}` };
      this.add('provider:request')
        .add('llm:request', { provider: 'acme', model: at % 2 === 0 ? 'large-5' : 'small-6' })
        .add('llm:response', {
          usage: { input_tokens: 3100 + at * 700, output_tokens: 240, cache_read_tokens: 1800 },
        })
        .add('tool:pre', { ...call, tool_input: { file_path: `src/part-${at % 3}.ts` } });
      if (at % 4 === 3) this.add('tool:error', { ...call, error: { message: 'exit code 1' } });
      else this.add('tool:post', { ...call, result: { success: true, output: 'ok' } });
    }
    return this.add('execution:end').add('prompt:complete', { response_preview: 'Done' });
  }
}

export const mainSession = '6d1f2a54-9c07-4b3e-8f65-2f0c7d51aa10';
export const hostileText = '<img src=x onerror="document.title=1">';

/** Sessions with runs, tools, a child and dead letters of two causes; names that a page must show as text. */
export async function seedConsole(url: string, deadLetters: number): Promise<void> {
  const began = Date.now() - 3_600_000;
  const main = new Session('checkout', mainSession, began)
    .add('session:start')
    .turn('Fix the failing test in the parser and explain what was wrong', [
      'read_file',
      'grep',
      'edit_file',
      'bash',
    ])
    .turn('Add a retry to the uploader', ['read_file', 'edit_file', 'bash']);
  const child = new Session('checkout', `${mainSession}-explorer`, began + 60_000)
    .add('session:start', { parent_id: mainSession })
    .turn('Where is the retry made?', ['grep', 'read_file'])
    .add('session:end');
  const hostile = new Session('billing', hostileText, began + 90_000)
    .add('session:start')
    .add(`custom:${hostileText}`, { prompt: hostileText })
    .turn(hostileText, ['web_fetch', hostileText]);
  const dying = Array.from({ length: deadLetters }, (_, at) => {
    const session = new Session(at % 2 === 0 ? 'docs' : 'billing', `dying-${at % 7}`, began);
    session.add('session:fork', { [at % 3 === 0 ? 'parent' : 'parent_id']: session.id });
    return session.events.map((one) => ({ ...one, event_id: `dying-${at}` }));
  });
  for (const { events } of [main, child, hostile]) await post(url, events);
  for (let at = 0; at < dying.length; at += 500) await post(url, dying.slice(at, at + 500).flat());
}

async function post(url: string, events: readonly Event[]): Promise<void> {
  const answer = await fetch(`${url}/v1/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(events),
  });
  expect(answer.status, await answer.text()).toBe(202);
}
