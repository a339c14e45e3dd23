import { afterEach, describe, expect, it, vi } from 'vitest';
import { createFileTranslator } from '#formats';

afterEach(() => vi.restoreAllMocks());

function translated(text: string): { readonly bodies: readonly string[]; readonly parses: number } {
  const parse = vi.spyOn(JSON, 'parse');
  const bytes = Buffer.from(text);
  const translator = createFileTranslator({ defaults: { workspace: 'w', session: 's' } });
  const [outcome] = translator.translate({
    bytes,
    lineNumber: 1,
    byteOffset: 0,
    byteLength: bytes.length,
    totalLength: bytes.length + 1,
    isTooLong: false,
    isTerminated: true,
  });
  return { bodies: outcome?.bodies ?? [], parses: parse.mock.calls.length };
}

describe('what a line of a file costs before it is sent', () => {
  it('a ready event is parsed once, and sent as it stands', () => {
    const line =
      '{"event":"tool:post","workspace":"w","event_id":"e-1","data":{"session_id":"s","timestamp":"2026-01-01T00:00:00Z","n":1.50}}';
    expect(translated(line)).toEqual({ bodies: [line], parses: 1 });
  });
});
