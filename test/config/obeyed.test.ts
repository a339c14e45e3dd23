import { describe, expect, it } from 'vitest';
import { configKeyNames, specOf } from '#config';
import { listFiles, readText } from '../tidy/source-tree.ts';

describe('settings', () => {
  it('are each read by the program, unless there is only one choice yet', () => {
    const sources = listFiles('src')
      .filter((path) => path.endsWith('.ts') && !path.startsWith('src/config/'))
      .map((path) => readText(path))
      .join('\n');
    const ignored = configKeyNames
      .filter((key) => specOf(key).choices?.length !== 1)
      .filter((key) => !sources.includes(`'${key}'`));
    expect(ignored, 'obey the setting or take it out of the schema').toEqual([]);
  });
});
