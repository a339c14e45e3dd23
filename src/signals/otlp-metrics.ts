/** A metric as the registry tells it. */
export interface RegistryMetric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly {
    readonly value: number;
    readonly labels: Readonly<Record<string, string | number>>;
    /** Of a histogram: which of its parts this is. */
    readonly metricName?: string;
  }[];
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string };
}

export function attributesOf(members: Readonly<Record<string, string | number>>): Attribute[] {
  return Object.entries(members).map(([key, value]) => ({
    key,
    value: { stringValue: String(value) },
  }));
}

/** OTLP's JSON writes 64-bit numbers as text; of times they are nanoseconds. */
export function nanos(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n);
}

const unitOf = (name: string): string =>
  name.includes('_seconds') ? 's' : name.includes('_bytes') ? 'By' : '1';

export interface MetricTimes {
  readonly startMs: number;
  readonly nowMs: number;
}

/** Cumulative metrics of OTLP's JSON encoding (`Metric` of opentelemetry-proto 1.x) from those of the registry. Pure. */
export function otlpMetrics(metrics: readonly RegistryMetric[], times: MetricTimes): object[] {
  return metrics.map((metric) => {
    const { name, help: description, type } = metric;
    const head = { name, description, unit: unitOf(name) };
    if (type === 'histogram') return { ...head, histogram: histogramOf(metric, times) };
    const dataPoints = metric.values
      // Not known now: a disk that does not answer.
      .filter(({ value }) => Number.isFinite(value))
      .map(({ value, labels }) => ({ ...pointOf(labels, times), asDouble: value }));
    return type === 'counter'
      ? { ...head, sum: { dataPoints, aggregationTemporality: cumulative, isMonotonic: true } }
      : { ...head, gauge: { dataPoints } };
  });
}

/** AGGREGATION_TEMPORALITY_CUMULATIVE */
const cumulative = 2;

function pointOf(labels: Readonly<Record<string, string | number>>, times: MetricTimes): object {
  return {
    attributes: attributesOf(labels),
    startTimeUnixNano: nanos(times.startMs),
    timeUnixNano: nanos(times.nowMs),
  };
}

/** No histogram of ours has labels, so each is one point. Buckets of the registry are sums of all below; those of OTLP stand for themselves. */
function histogramOf({ values }: RegistryMetric, times: MetricTimes): object {
  const bounds: number[] = [];
  const counts: number[] = [];
  let sum = 0;
  let count = 0;
  let below = 0;
  for (const { value, labels, metricName = '' } of values) {
    if (metricName.endsWith('_sum')) sum = value;
    else if (metricName.endsWith('_count')) count = value;
    else if (labels['le'] !== '+Inf') {
      bounds.push(Number(labels['le']));
      counts.push(value - below);
      below = value;
    }
  }
  const point = {
    ...pointOf({}, times),
    count: String(count),
    sum,
    explicitBounds: bounds,
    bucketCounts: [...counts, count - below].map(String),
  };
  return { dataPoints: [point], aggregationTemporality: cumulative };
}
