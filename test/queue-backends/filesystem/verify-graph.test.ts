import { describe, expect, it } from 'vitest';
import { sha256Hex } from '#base';
import type { VerifyOptions } from '#queue-backends/filesystem';
import { formatPosition, parsePosition } from '#record';
import { readStored } from '../../../queue-backends/filesystem/session/stored-line.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { edit, flipAt, folderOf, withPlace } from './place.ts';
import { filled, verify } from './verified.ts';

const log = `${folderOf()}/log.000000.jsonl`;

describe('queue verify beside a graph (ING-541, ING-921)', () => {
  it('compares the record that the graph applied with the one that the log has there (ING-541)', () =>
    withPlace(async (place) => {
      await filled(place);
      const bytes = Buffer.from((await place.disk.readFile(log)) ?? []);
      const first = bytes.subarray(0, bytes.indexOf('\n') + 1);
      const sha256 = sha256Hex(readStored(first) ?? Buffer.alloc(0));
      const codesAt = async (offset: number, digest: string): Promise<readonly string[]> => {
        const ask: VerifyOptions['askGraph'] = ({ key, end }) => {
          const { ordinal = 0, epoch = '' } = parsePosition(end) ?? {};
          if (key !== testKey('s')) return undefined;
          return { kind: 'prove', at: formatPosition({ ordinal, epoch, offset }), sha256: digest };
        };
        return (await verify(place.disk, false, ask)).codes;
      };
      expect(await codesAt(first.length, sha256)).toEqual([]);
      expect(await codesAt(first.length, sha256Hex(first))).toEqual(['graph_differs']);
      expect(await codesAt(first.length - 1, sha256)).toEqual(['graph_differs']);
      // In the journal alone, or compacted: that is for a start to compare.
      expect(await codesAt(bytes.length + 1, sha256)).toEqual([]);
      expect(await codesAt(0, sha256)).toEqual([]);
    }));

  it('asks the graph of no session whose files are damaged or told anew by the journal', () =>
    withPlace(async (place) => {
      await filled(place);
      const asked: string[] = [];
      const ask: VerifyOptions['askGraph'] = ({ key, end }) => {
        asked.push(`${key} ${parsePosition(end)?.offset}`);
        return { kind: 'wrong', message: 'm' };
      };
      expect((await verify(place.disk, false, ask)).codes).toEqual(['graph_differs']);
      expect(asked).toHaveLength(2);
      await edit(place.disk, log, (bytes) => flipAt(bytes, '"n":1'));
      const { all } = await verify(place.disk, false, ask);
      expect(all.filter(({ path }) => path.includes(testKey('s')))).toMatchObject([
        { code: 'line_corrupt' },
      ]);
    }));
});
