import type { Chance, Clock } from '#base';
import { checkpointed, groupApplied, journalSynced, requestFinished } from './channels.ts';
import { attributesOf, nanos } from './otlp-metrics.ts';

/** Spans that wait to be sent, at most; and those of one name within a second, so that tracing costs a busy daemon no more than an idle one. */
const spansMax = 2048;
const spansPerSecond = 20;

/** SPAN_KIND_INTERNAL, SPAN_KIND_SERVER; STATUS_CODE_ERROR */
const kinds = { internal: 1, server: 2 };
const errorStatus = { code: 2 };

interface Work {
  readonly name: string;
  readonly kind: keyof typeof kinds;
  readonly durationMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly isError?: boolean;
}

/** Collects what the flow tells of its own work as spans of OTLP's JSON encoding, a sample of them. */
export class SpanBuffer {
  readonly #clock: Clock;
  readonly #chance: Chance;
  readonly #ends: readonly (() => void)[];
  #spans: object[] = [];
  #second = 0;
  readonly #inSecond = new Map<string, number>();

  constructor(clock: Clock, chance: Chance) {
    this.#clock = clock;
    this.#chance = chance;
    this.#ends = [
      requestFinished.subscribe(({ route, status, accepted, durationMs, bodyBytes }) =>
        this.#add({
          name: `POST ${route}`,
          kind: 'server',
          durationMs,
          isError: status >= 500,
          attributes: {
            'http.route': route,
            'http.response.status_code': status,
            'millrace.records': accepted,
            'http.request.body.size': bodyBytes,
          },
        }),
      ),
      journalSynced.subscribe(({ durationMs, frames, records, bytes }) =>
        this.#add({
          name: 'journal sync',
          kind: 'internal',
          durationMs,
          attributes: {
            'millrace.frames': frames,
            'millrace.records': records,
            'millrace.bytes': bytes,
          },
        }),
      ),
      groupApplied.subscribe(({ durationMs, keys, records, mutations }) =>
        this.#add({
          name: 'graph apply',
          kind: 'internal',
          durationMs,
          attributes: {
            'millrace.sessions': keys,
            'millrace.records': records,
            'millrace.mutations': mutations,
          },
        }),
      ),
      checkpointed.subscribe(({ durationMs, keys, bytes }) =>
        this.#add({
          name: 'checkpoint',
          kind: 'internal',
          durationMs,
          attributes: { 'millrace.sessions': keys, 'millrace.bytes': bytes },
        }),
      ),
    ];
  }

  /** What has come since the last call. */
  take(): readonly object[] {
    const spans = this.#spans;
    this.#spans = [];
    return spans;
  }

  stop(): void {
    for (const end of this.#ends) end();
  }

  #add({ name, kind, durationMs, attributes, isError = false }: Work): void {
    const nowMs = this.#clock.now();
    if (this.#spans.length >= spansMax || !this.#isInSample(name, nowMs)) return;
    this.#spans.push({
      traceId: this.#hex(16),
      spanId: this.#hex(8),
      name,
      kind: kinds[kind],
      startTimeUnixNano: nanos(nowMs - durationMs),
      endTimeUnixNano: nanos(nowMs),
      attributes: attributesOf(attributes),
      ...(isError ? { status: errorStatus } : {}),
    });
  }

  #isInSample(name: string, nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#inSecond.clear();
    }
    const count = (this.#inSecond.get(name) ?? 0) + 1;
    this.#inSecond.set(name, count);
    return count <= spansPerSecond;
  }

  #hex(bytes: number): string {
    return Buffer.from(this.#chance.bytes(bytes)).toString('hex');
  }
}
