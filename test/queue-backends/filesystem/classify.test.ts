import { describe, expect, it } from 'vitest';
import {
  type ClassifyFacts,
  verdictOf,
} from '../../../queue-backends/filesystem/repair/classify.ts';
import { append, kill, numbered } from '../../contract/queue/steps.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { edit, flipAt, folderOf, withPlace } from './place.ts';
import { apply, key, logPath, offsetPath } from './stopped-key.ts';

const well: ClassifyFacts = {
  isKnown: true,
  hasRecord: true,
  hasLog: true,
  hasGeneration: true,
  isFinalizing: false,
  fault: undefined,
  mayReset: false,
  pending: 0,
  deadAhead: 0,
};
const unknown = { ...well, isKnown: false, hasRecord: false, hasLog: false, hasGeneration: false };
const fault = { code: 'OFFSET_CORRUPT', message: 'the file is empty' };

const table: readonly (readonly [Partial<ClassifyFacts>, string, string])[] = [
  [{}, 'drained', 'fully_drained'],
  [{ pending: 2 }, 'resumable', 'pending_records'],
  [{ pending: 2, deadAhead: 1 }, 'resumable', 'dead_ahead'],
  [{ isFinalizing: true, pending: 2 }, 'finish_finalize', 'finalizing'],
  [{ fault }, 'quarantine', 'offset_damaged'],
  [{ fault, mayReset: true }, 'reset', 'offset_damaged'],
  [{ fault: { ...fault, code: 'OFFSET_UNSUPPORTED' } }, 'quarantine', 'offset_newer'],
  [{ fault: { ...fault, code: 'OFFSET_BEYOND_LOG' } }, 'quarantine', 'offset_out_of_range'],
  [{ fault: { ...fault, code: 'OFFSET_MISALIGNED' } }, 'quarantine', 'offset_out_of_range'],
  [{ fault: { ...fault, code: 'RECORD_CORRUPT' } }, 'quarantine', 'log_damaged'],
  [{ fault: { ...fault, code: 'CURSOR_CORRUPT' } }, 'quarantine', 'cursor_damaged'],
  [{ fault: { ...fault, code: 'LOG_GENERATION_MISSING' } }, 'quarantine', 'generation_damaged'],
  [{ fault: { ...fault, code: 'SOMETHING_NEW' } }, 'quarantine', 'other_damage'],
  [unknown, 'ok', 'no_files'],
  [{ ...unknown, hasRecord: true }, 'orphan_record', 'log_missing'],
  [{ ...unknown, hasGeneration: true }, 'orphan_generation', 'generation_alone'],
];

describe('the verdict on a key (ING-822)', () => {
  for (const [facts, verdict, reason] of table)
    it(`is ${verdict} for ${reason}: ${JSON.stringify(facts)}`, () => {
      expect(verdictOf({ ...well, ...facts })).toMatchObject({ verdict, reason });
    });

  it('is the same from the files: drained, waiting, dead ahead, damaged, never seen', () =>
    withPlace(async (place) => {
      const first = await place.open();
      await append(first, ...numbered('s', 0, 3), ...numbered('t', 0, 2), ...numbered('u', 0, 2));
      await apply(first, 3);
      await kill(first, 'u');
      await first.resetOffset(testKey('u'), { by: 'operator', operationId: 'x' });
      expect(await first.classify(key)).toMatchObject({ verdict: 'drained' });
      expect(await first.classify(testKey('t'))).toMatchObject({
        verdict: 'resumable',
        pending: 2,
      });
      expect(await first.classify(testKey('u'))).toMatchObject({
        reason: 'dead_ahead',
        pending: 1,
      });
      expect(await first.classify(testKey('never'))).toMatchObject({ verdict: 'ok' });
      await first.close();
      await edit(place.disk, offsetPath, () => Buffer.alloc(0));
      await edit(place.disk, `${folderOf(testKey('t'))}/generation.000000.json`, (bytes) =>
        flipAt(bytes, '"epoch"'),
      );
      await edit(place.disk, logPath, (bytes) => bytes);
      const queue = await place.open();
      expect(await queue.classify(key)).toMatchObject({ reason: 'offset_damaged' });
      expect(await queue.classify(testKey('t'))).toMatchObject({ reason: 'generation_damaged' });
      await queue.close();
      const lenient = await place.open({ limits: { autoResetBytesMax: 2 ** 20 } });
      expect(await lenient.classify(key), 'stopped before it was allowed').toMatchObject({
        verdict: 'reset',
      });
    }));
});
