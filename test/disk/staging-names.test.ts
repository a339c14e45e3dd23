import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isStaleStaging, parseStagingName, stagingNames } from '#disk';
import { seededChance } from '../support/chance.ts';

describe('stagingNames', () => {
  it('never gives a name twice, not for one path nor for two processes of one id (ING-230)', () => {
    const sources = [stagingNames(42, seededChance(1)), stagingNames(42, seededChance(2))];
    const given = sources.flatMap((names) =>
      Array.from({ length: 500 }, () => names.nextFor('/a/record')),
    );
    expect(new Set(given).size).toBe(1000);
  });

  it('makes names that tell their target and writer (ING-232)', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[^/]+$/),
        fc.integer({ min: 1, max: 4_194_304 }),
        (base, pid) => {
          const names = stagingNames(pid, seededChance(pid));
          names.nextFor('/other');
          expect(parseStagingName(names.nextFor(`/dir/${base}`))).toEqual({
            target: `/dir/${base}`,
            pid,
            bootNonce: names.writer.bootNonce,
            counter: 2,
          });
        },
      ),
    );
  });

  it.each([
    'record',
    'record.tmp',
    'record.42-0011223344556677.tmp',
    'record.0-0011223344556677-1.tmp',
    'record.42-0011223344556677-1.tmp.bak',
    'record.42-00112233445566XX-1.tmp',
    '.42-0011223344556677-1.tmp',
    '/dir/.42-0011223344556677-1.tmp',
  ])('attributes nothing to the foreign name %s', (name) => {
    expect(parseStagingName(name)).toBeUndefined();
  });

  it('counts only files of another start as stale, even of the same process id (ING-232)', () => {
    const running = stagingNames(42, seededChance(1));
    const before = stagingNames(42, seededChance(2));
    const stale = [running, before].map((names) => {
      const name = parseStagingName(names.nextFor('/record'));
      return name !== undefined && isStaleStaging(name, running.writer);
    });
    expect(stale).toEqual([false, true]);
  });
});
