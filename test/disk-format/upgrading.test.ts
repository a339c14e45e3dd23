import { expect, it } from 'vitest';
import { controlSchemaVersion, migrations } from '#control';
import { queueProtocolVersion } from '#queue';
import { cursorSchema } from '#record';
import { stateFormatVersion } from '#state';
import { graphFormatVersion } from '../../src/graph/embedded/schema.ts';
import { frameVersion } from '../../queue-backends/filesystem/journal/frame.ts';
import { readText } from '../tidy/source-tree.ts';

/** Third column of the row of a stored form. */
function told(form: string): string {
  const row = readText('UPGRADING.md')
    .split('\n')
    .find((line) => line.startsWith(`| ${form} `));
  return row?.split('|')[3]?.trim() ?? '';
}

it('is told with the versions that this program writes (ING-904)', () => {
  expect(told('control database')).toBe(`schema ${controlSchemaVersion}`);
  expect(readText('UPGRADING.md')).toContain(`steps 1 to ${migrations.length} (`);
  expect(told('cursor')).toBe(`schema ${cursorSchema}`);
  expect(told('embedded graph')).toBe(String(graphFormatVersion));
  expect(told('journal')).toBe(`segment 1, frame ${frameVersion}`);
  expect(told('state store')).toBe(String(stateFormatVersion));
  expect(told('queue protocol')).toBe(queueProtocolVersion);
});
