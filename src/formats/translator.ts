import { translateLine } from './amplifier/translate-line.ts';
import type { SourceDefaults, Translator } from './translated.ts';

/** Translates the lines of one file, each by what stands in it; the room's one entry for `post`. */
export function createTranslator(defaults: SourceDefaults = {}): Translator {
  return { translate: (line) => translateLine(line, defaults) };
}
