/**
 * base: words and tools that every room uses.
 *
 * Lives here: error class and dispositions, assertions, clock, chance, back-off, bytes (CRC-32C, sizes), bounded and lossless JSON and a check that makes no values, the port of a
 * worker thread, the pace of work that nobody waits for, what a thread gets of a core, the name that a mistyped one meant.
 * Not here: anything that knows events, files, graphs or HTTP.
 * Promises: none of its own; D15 and D18 are held here.
 * May call: nothing. Called by: every room.
 */
export * from './errors.ts';
export * from './format-too-new.ts';
export * from './assert.ts';
export * from './clock.ts';
export * from './core-wait.ts';
export * from './chance.ts';
export * from './backoff.ts';
export * from './bytes.ts';
export * from './json.ts';
export * from './canonical-json.ts';
export * from './ascii-json.ts';
export * from './json-members.ts';
export * from './json-scan.ts';
export * from './thread-port.ts';
export * from './gate.ts';
export * from './pace.ts';
export * from './suggest.ts';
export * from './young-generation.ts';
