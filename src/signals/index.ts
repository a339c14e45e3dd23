/**
 * signals: what the flow says about itself.
 *
 * Lives here: typed diagnostics channels; their subscribers: log (pino), metrics (Prometheus, OTLP), spans, the live feed.
 * Not here: decisions; the flow never waits for an observer.
 * Promises: no payload and no secret in any message.
 * May call: base, config. Called by: every room above.
 */
export * from './channel.ts';
export * from './channels.ts';
export * from './live-feed.ts';
export * from './log.ts';
export * from './log-file.ts';
export * from './metrics.ts';
export * from './otlp.ts';
