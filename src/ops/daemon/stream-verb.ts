import { Type } from 'typebox';
import { keyParts, parseKey, type Key } from '#record';
import { liveKinds, streamMissed, type LiveMessage, type LivePage } from '#signals';
import { degradations, readStatus } from './status-verbs.ts';
import type { OpsContext } from '../ops-context.ts';
import { type Caller, type Verb, defineStreamVerb } from '../verb.ts';

/** Messages of one write: a watcher of a busy daemon gets them in heaps, not one by one. */
const messagesPerWrite = 500;
/** Between two writes, ms: what comes meanwhile goes together. */
const writeEveryMs = 100;
/** A connection that says nothing is taken for dead by proxies. */
const sayAliveMs = 15_000;
/** Books are told at most this often, and at least so often though they have not changed. */
const booksEveryMs = 1000;
const booksAtLeastMs = 10_000;
/** Keys whose names had to be looked up. */
const namesMax = 10_000;

/** `books` is what the status says, sent as it changes: for a picture of the whole, and so only for who asks for it by name. */
const streamKinds = [...liveKinds, 'books'] as const;
type StreamKind = (typeof streamKinds)[number];
const anyKind = `(${streamKinds.join('|')})`;

interface StreamFilter {
  readonly key?: string;
  readonly session?: string;
  readonly workspace?: string;
  readonly kinds: ReadonlySet<StreamKind>;
}

export const streamVerb: Verb = defineStreamVerb({
  name: 'stream',
  summary:
    'what happens, as it happens: server-sent events accepted, applied, dead, quarantine, health',
  effect: 'read',
  scope: 'ops:read',
  input: Type.Object(
    {
      key: Type.Optional(Type.String()),
      session: Type.Optional(Type.String()),
      workspace: Type.Optional(Type.String()),
      /** All but `books` where it is not given. */
      kinds: Type.Optional(
        Type.String({
          pattern: `^${anyKind}(,${anyKind})*$`,
          description: `a list, parted by commas, of ${streamKinds.join(', ')}`,
        }),
      ),
      last_event_id: Type.Optional(Type.String({ maxLength: 64 })),
    },
    { additionalProperties: false },
  ),
  mediaType: 'text/event-stream',
  http: { method: 'GET', path: '/v1/stream' },
  run(context, input, caller) {
    const { key, session, workspace, kinds } = input;
    const filter: StreamFilter = {
      ...(key === undefined ? {} : { key }),
      ...(session === undefined ? {} : { session }),
      ...(workspace === undefined ? {} : { workspace }),
      kinds: new Set(kinds === undefined ? liveKinds : (kinds.split(',') as StreamKind[])),
    };
    return Promise.resolve(
      events(context, filter, caller, caller.lastEventId ?? input.last_event_id),
    );
  },
});

async function* events(
  context: OpsContext,
  filter: StreamFilter,
  caller: Caller,
  lastEventId: string | undefined,
): AsyncGenerator<Uint8Array> {
  const { feed, clock } = context;
  const { signal } = caller;
  const end = feed.watch();
  try {
    const shows = createShow(context, filter, caller);
    const books = createBooks(context, filter, caller);
    let page = feed.read(lastEventId, messagesPerWrite);
    yield bytesOf(
      `retry: 2000\n\n${healthNow(context, filter, caller, feed.read(undefined, 0).last)}`,
    );
    let saidAtMs = clock.monotonic();
    while (!signal.aborted) {
      const text = `${await textOf(page, shows)}${await books.text()}`;
      if (text !== '') yield bytesOf(text);
      const nowMs = clock.monotonic();
      if (text !== '') saidAtMs = nowMs;
      else if (nowMs - saidAtMs >= sayAliveMs) {
        saidAtMs = nowMs;
        yield bytesOf(': still here\n\n');
      }
      await feed.wait(page.last, books.everyMs, signal);
      await patience(context, signal);
      page = feed.read(page.last, messagesPerWrite);
    }
  } finally {
    end();
  }
}

/** The status, when it has changed and its time has come. */
function createBooks(
  context: OpsContext,
  { kinds }: StreamFilter,
  caller: Caller,
): { readonly everyMs: number; text(): Promise<string> } {
  if (!kinds.has('books')) return { everyMs: sayAliveMs, text: () => Promise.resolve('') };
  const { clock } = context;
  let toldMs = Number.NEGATIVE_INFINITY;
  let told = '';
  return {
    everyMs: booksEveryMs,
    async text() {
      const passedMs = clock.monotonic() - toldMs;
      if (passedMs < booksEveryMs) return '';
      const { uptime_seconds, ...status } = await readStatus(context, caller);
      const now = JSON.stringify(status);
      if (now === told && passedMs < booksAtLeastMs) return '';
      [told, toldMs] = [now, clock.monotonic()];
      const at = new Date(clock.now()).toISOString();
      return sent(undefined, 'books', { kind: 'books', at, ...status, uptime_seconds });
    },
  };
}

async function patience({ clock }: OpsContext, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(writeEveryMs, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text);
}

/** A page as server-sent events; what a slow watcher missed is told first. */
async function textOf(
  { messages, missed }: LivePage,
  shows: (message: LiveMessage) => Promise<string | undefined>,
): Promise<string> {
  const [first] = messages;
  let text = '';
  if (missed !== 0) {
    streamMissed.publish(() => ({ count: missed ?? 0 }));
    text += sent(first?.id, 'missed', {
      count: missed,
      message:
        missed === null
          ? 'the daemon was started anew, or too much time has passed: look at the lists'
          : `${missed} messages of all sessions came faster than they were read: look at the lists`,
    });
  }
  for (const { id, message } of messages) {
    const data = await shows(message);
    if (data !== undefined) text += `id: ${id}\nevent: ${message.kind}\ndata: ${data}\n\n`;
  }
  return text;
}

function sent(id: string | undefined, event: string, data: object): string {
  const line = id === undefined ? '' : `id: ${id}\n`;
  return `${line}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** The state that a watcher begins with. */
function healthNow(
  context: OpsContext,
  { kinds }: StreamFilter,
  caller: Caller,
  last: string,
): string {
  if (!kinds.has('health')) return '';
  const at = new Date(context.clock.now()).toISOString();
  const degraded = degradations(context).map((reason) => wordsFor(caller, reason));
  return sent(last, 'health', { kind: 'health', at, state: context.state(), degraded });
}

/** Reasons name sessions: who may not see all workspaces gets the codes. */
function wordsFor(
  caller: Caller,
  reason: { readonly code: string; readonly message: string; readonly since: string },
): object {
  return caller.workspaces === undefined ? reason : { code: reason.code, since: reason.since };
}

/** The data of a message that a watcher may and wants to see. */
function createShow(
  context: OpsContext,
  filter: StreamFilter,
  caller: Caller,
): (message: LiveMessage) => Promise<string | undefined> {
  const namesOf = createNames(context);
  return async (message) => {
    const { kind, key, atMs, facts } = message;
    if (!filter.kinds.has(kind)) return undefined;
    const at = new Date(atMs).toISOString();
    if (key === null) return JSON.stringify({ kind, at, ...healthFacts(facts, caller) });
    if (filter.key !== undefined && filter.key !== key) return undefined;
    const names = message.names ?? (await namesOf(key));
    if (names === undefined) return undefined;
    const { workspace, session } = names;
    if (caller.workspaces !== undefined && !caller.workspaces.includes(workspace)) return undefined;
    if (filter.workspace !== undefined && filter.workspace !== workspace) return undefined;
    if (filter.session !== undefined && filter.session !== session) return undefined;
    return JSON.stringify({ kind, at, key, workspace, session_id: session, ...facts });
  };
}

function healthFacts(facts: LiveMessage['facts'], caller: Caller): object {
  const { degraded, ...rest } = facts;
  if (!Array.isArray(degraded))
    return caller.workspaces === undefined ? facts : { state: rest['state'] };
  return {
    degraded: (degraded as Parameters<typeof wordsFor>[1][]).map((reason) =>
      wordsFor(caller, reason),
    ),
  };
}

/** A plain key tells its names; those of a hashed one are looked up once. */
function createNames(
  context: OpsContext,
): (text: string) => Promise<{ readonly workspace: string; readonly session: string } | undefined> {
  const known = new Map<string, { readonly workspace: string; readonly session: string }>();
  return async (text) => {
    const parts = keyParts(text) ?? known.get(text);
    if (parts !== undefined) return parts;
    const key: Key | undefined = parseKey(text);
    const status = key === undefined ? undefined : await context.ledger.keyStatus(key);
    if (status === undefined) return undefined;
    const names = { workspace: status.workspace, session: status.session };
    if (known.size >= namesMax) known.clear();
    known.set(text, names);
    return names;
  };
}
