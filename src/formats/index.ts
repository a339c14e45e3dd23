/**
 * formats: what clients write, made into events for `POST /v1/events`; pure.
 *
 * Lives here: line splitting by byte, recognition by content, the translation and the derived event id of each format (README.md).
 * Not here: admission, HTTP, reading files.
 * Promises: P5 (an event of a file and of its live client has one id; a longer file gives the same events and more).
 * May call: base, record (times). Called by: cli, http, legacy, later corpus and staging.
 */
export * from './split-lines.ts';
export * from './whole-document.ts';
export * from './translated.ts';
export * from './translator.ts';
export * from './file-translator.ts';
export { formatNames, type FormatName } from './recognise.ts';
export { bodyOfDraft, type EventDraft } from './event-draft.ts';
export { translateLine } from './amplifier/translate-line.ts';
export { eventKey } from './amplifier/event-key.ts';
export { translateHook, type HookArrival } from './claude-code/translate-hook.ts';
export { decodeOtlpJson, decodeOtlpProtobuf, encodeOtlp, type Signal } from './otlp/decode.ts';
export { translateTraces, type OtlpEvents } from './otlp/translate-traces.ts';
export { translateLogs } from './otlp/translate-logs.ts';
export { refuseMetrics } from './otlp/refuse-metrics.ts';
export { TraceSessions, type KeptTrace } from './otlp/trace-sessions.ts';
export {
  isCloudEvent,
  translateCloudEvent,
  type CloudArrival,
  type TranslatedCloudEvent,
} from './cloudevents/translate-event.ts';
export { decodeHeader, readBinaryEvent } from './cloudevents/binary-mode.ts';
