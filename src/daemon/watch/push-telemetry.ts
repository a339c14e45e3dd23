import { startOtlp, type Metrics } from '#signals';
import type { Ground } from '../daemon.ts';

/** Pushes to a collector where one is configured; the stores' gauges go along while they are open. */
export function pushTelemetry(
  { options, clock, chance, closers }: Ground,
  { registryMetrics }: Pick<Metrics, 'registryMetrics'>,
  isOpen: () => boolean,
): void {
  const { config } = options.loaded;
  const endpoint = config['otlp.endpoint'];
  if (endpoint === null) return;
  const stop = startOtlp({
    endpoint,
    headers: config['otlp.headers'],
    intervalMs: config['otlp.interval_ms'],
    version: options.version,
    clock,
    chance,
    metrics: () => registryMetrics({ isSnapshotTaken: isOpen() }),
  });
  closers.add('telemetry', stop);
}
