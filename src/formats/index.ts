/**
 * formats: what clients write into files, made into events for `POST /v1/events`; pure.
 *
 * Lives here: line splitting by byte, recognition by content, the translation and the derived event id of each format (README.md).
 * Not here: admission, HTTP, reading files.
 * Promises: P5 (an event of a file and of its live client has one id).
 * May call: base. Called by: cli, later corpus and staging.
 */
export * from './split-lines.ts';
export * from './translated.ts';
export * from './translator.ts';
export { translateLine } from './amplifier/translate-line.ts';
export { eventKey } from './amplifier/event-key.ts';
