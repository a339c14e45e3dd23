import type { JsonObject } from '#base';
import { listOf, objectOf } from '../event-draft.ts';
import type { OtlpEvents } from './translate-traces.ts';

const kinds = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'] as const;

/** Metrics are no events. Every data point is refused for good, so that a client neither sends it again nor thinks that it is kept (B170). Pure. */
export function refuseMetrics(request: JsonObject): OtlpEvents {
  const metrics = listOf(request['resourceMetrics'])
    .flatMap((ofResource) => listOf(objectOf(ofResource)?.['scopeMetrics']))
    .flatMap((ofScope) => listOf(objectOf(ofScope)?.['metrics']));
  const points = metrics.flatMap((metric) =>
    kinds.flatMap((kind) => listOf(objectOf(objectOf(metric)?.[kind])?.['dataPoints'])),
  );
  return {
    drafts: [],
    refused: points.length,
    reason: 'metrics are not kept: set OTEL_METRICS_EXPORTER=none',
  };
}
