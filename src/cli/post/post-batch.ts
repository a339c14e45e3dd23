import type { Client } from '../client.ts';
import { daemonUnreachable, errorOfAnswer } from '../errors.ts';
import type { PostOptions } from './post-file.ts';

type SendOptions = Pick<PostOptions, 'clock' | 'printer'>;

export interface SentBatch {
  readonly queued: number;
  readonly duplicates: number;
  readonly rejects: readonly {
    readonly index: number;
    readonly code: string;
    readonly message: string;
  }[];
}

interface Answer {
  readonly results?: readonly { readonly status?: string }[];
  readonly status?: string;
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly details?: { readonly errors?: readonly AnswerError[] };
  };
  readonly rejects?: readonly AnswerError[];
}

interface AnswerError {
  readonly index?: number;
  readonly code?: string;
  readonly message?: string;
}

/** Passing trouble is waited for this long in a row before the post gives up; nothing is lost, the same command goes on later. */
const patienceMs = 120_000;
const firstDelayMs = 250;
const delayMsMax = 10_000;

/**
 * Sends one NDJSON batch, again and again while the trouble may pass (D13). Formats give every event an id, so a repeat adds nothing. A batch
 * that is above the daemon's own limits is sent in halves.
 */
export async function sendBatch(
  client: Client,
  bodies: readonly string[],
  options: SendOptions,
): Promise<SentBatch> {
  const payload = Buffer.from(bodies.join('\n'));
  const giveUpAt = options.clock.monotonic() + patienceMs;
  let delayMs = firstDelayMs;
  for (;;) {
    const attempt = await tryOnce(client, payload, bodies.length);
    if (attempt.kind === 'sent') return attempt.sent;
    if (attempt.kind === 'too-large') return sendHalves(client, bodies, options);
    if (options.clock.monotonic() + delayMs > giveUpAt) throw attempt.trouble;
    const waitMs = Math.max(delayMs, attempt.retryAfterMs);
    const seconds = Math.round(waitMs / 100) / 10;
    options.printer.progress(`  waiting ${seconds} s: ${attempt.trouble.message}`);
    await options.clock.sleep(waitMs);
    delayMs = Math.min(delayMs * 2, delayMsMax);
  }
}

async function sendHalves(
  client: Client,
  bodies: readonly string[],
  options: SendOptions,
): Promise<SentBatch> {
  const middle = Math.ceil(bodies.length / 2);
  const first = await sendBatch(client, bodies.slice(0, middle), options);
  const second = await sendBatch(client, bodies.slice(middle), options);
  return {
    queued: first.queued + second.queued,
    duplicates: first.duplicates + second.duplicates,
    rejects: [
      ...first.rejects,
      ...second.rejects.map((reject) => ({ ...reject, index: reject.index + middle })),
    ],
  };
}

type Attempt =
  | { readonly kind: 'sent'; readonly sent: SentBatch }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'trouble'; readonly trouble: Error; readonly retryAfterMs: number };

async function tryOnce(client: Client, payload: Uint8Array, count: number): Promise<Attempt> {
  let response: Response;
  try {
    response = await client.send('POST', '/v1/events', payload, {
      'content-type': 'application/x-ndjson',
    });
  } catch (error) {
    if (daemonUnreachable.is(error)) return { kind: 'trouble', trouble: error, retryAfterMs: 0 };
    throw error;
  }
  return judge(response, await readAnswer(response), count);
}

/** A proxy in between may answer with a page instead of JSON: the status still counts. */
async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return { error: { code: 'ANSWER_UNREADABLE', message: text.slice(0, 200) } };
  }
}

function judge(response: Response, answer: Answer, count: number): Attempt {
  const { status } = response;
  const { code = 'REFUSED', message = `the daemon answered ${status}` } = answer.error ?? {};
  const failure = errorOfAnswer(status, code, message, undefined);
  if (status === 429 || status === 503) {
    const retryAfterMs = Number(response.headers.get('retry-after') ?? 0) * 1000;
    return { kind: 'trouble', trouble: failure, retryAfterMs };
  }
  if (code === 'BATCH_TOO_LARGE' && count > 1) return { kind: 'too-large' };
  if (status === 401 || status === 404 || status >= 500) throw failure;
  return { kind: 'sent', sent: countAnswer(answer, count) };
}

/** 200, 202 and 207 carry receipts; a 4xx carries the rejects of a batch of which nothing was stored, or one reason for all of it. */
function countAnswer(answer: Answer, count: number): SentBatch {
  const receipts = answer.results ?? (answer.status === undefined ? [] : [answer]);
  const duplicates = receipts.filter(({ status }) => status === 'duplicate').length;
  const queued = receipts.filter(({ status }) => status === 'queued').length;
  const { code = 'REFUSED', message = 'refused' } = answer.error ?? {};
  const told = answer.rejects ?? answer.error?.details?.errors ?? [];
  const isWhole = told.length === 0 && answer.error !== undefined;
  const errors = isWhole ? Array.from({ length: count }, (_, index) => ({ index })) : told;
  const rejects = errors.map((error) => ({ index: 0, code, message, ...error }));
  return { queued, duplicates, rejects };
}
