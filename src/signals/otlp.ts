import { messageOf, type Chance, type Clock } from '#base';
import { daemonNoticed } from './channels.ts';
import { attributesOf, otlpMetrics, type RegistryMetric } from './otlp-metrics.ts';
import { SpanBuffer } from './otlp-spans.ts';

export interface OtlpOptions {
  /** Of a collector, such as `http://127.0.0.1:4318`; metrics and traces go to their paths below it. */
  readonly endpoint: string;
  /** `name=value`, such as an authorization. */
  readonly headers: readonly string[];
  readonly intervalMs: number;
  readonly version: string;
  readonly clock: Clock;
  readonly chance: Chance;
  /** What the registry holds now. */
  readonly metrics: () => Promise<readonly RegistryMetric[]>;
}

/** A collector that hangs holds no push longer than this. */
const pushMsMax = 10_000;

/**
 * Pushes metrics and a sample of spans to an OpenTelemetry collector (OTLP over HTTP, JSON encoding). One that is away costs the spans of the time, and is
 * told once; metrics are cumulative, so nothing of them is lost. Resolves once the last push is done.
 */
export function startOtlp(options: OtlpOptions): () => Promise<void> {
  const { clock, chance, intervalMs } = options;
  const startMs = clock.now();
  const spans = new SpanBuffer(clock, chance);
  const push = createPush(options);
  const pushAll = async (): Promise<void> => {
    const metrics = otlpMetrics(await options.metrics(), { startMs, nowMs: clock.now() });
    await push('/v1/metrics', 'resourceMetrics', 'scopeMetrics', 'metrics', metrics);
    const taken = spans.take();
    if (taken.length > 0) await push('/v1/traces', 'resourceSpans', 'scopeSpans', 'spans', taken);
  };
  let isOver = false;
  let running: Promise<void> = Promise.resolve();
  const schedule = (): { cancel(): void } =>
    clock.after(intervalMs, () => {
      running = pushAll().finally(() => {
        if (!isOver) timer = schedule();
      });
    });
  let timer = schedule();
  return async () => {
    isOver = true;
    timer.cancel();
    await running;
    await pushAll();
    spans.stop();
  };
}

type Push = (
  path: string,
  resources: string,
  scopes: string,
  member: string,
  items: readonly object[],
) => Promise<void>;

function createPush({ endpoint, headers, version }: OtlpOptions): Push {
  const resource = {
    attributes: attributesOf({ 'service.name': 'millrace', 'service.version': version }),
  };
  const scope = { name: 'millrace', version };
  const sent = Object.fromEntries(
    headers.map((text) => {
      const at = text.indexOf('=');
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
  let isAway = false;
  return async (path, resources, scopes, member, items) => {
    const body = { [resources]: [{ resource, [scopes]: [{ scope, [member]: items }] }] };
    const refusal = await post(`${endpoint.replace(/\/+$/, '')}${path}`, sent, body);
    const message =
      refusal === undefined
        ? 'the OpenTelemetry collector takes what is pushed again'
        : `the OpenTelemetry collector takes nothing (${refusal}): metrics follow once it does, spans of the time are lost`;
    const isNews = isAway !== (refusal !== undefined);
    isAway = refusal !== undefined;
    if (isNews) daemonNoticed.publish(() => ({ code: 'OTLP_AWAY', message }));
  };
}

/** Undefined when it was taken; nothing of the flow waits for it. */
async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: object,
): Promise<string | undefined> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(pushMsMax),
    });
    await answer.arrayBuffer();
    return answer.ok ? undefined : `status ${answer.status}`;
  } catch (error) {
    return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
  }
}
