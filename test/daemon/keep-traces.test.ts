import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemChance } from '#base';
import { nodeDisk, stagingNames } from '#disk';
import { keepTraces } from '../../src/daemon/watch/keep-traces.ts';
import { fakeClock } from '../support/clock.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-traces-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('sessions of traces', () => {
  it('are known again after a stop, and written while they change', async () => {
    const path = join(folder, 'traces.json');
    const clock = fakeClock();
    const means = { disk: nodeDisk(), clock, names: stagingNames(process.pid, systemChance) };
    const first = await keepTraces(means, path);
    first.traces.learn('w', 'a', 'session-a');
    await clock.advance(10_000);
    await expect.poll(() => readFile(path, 'utf8').catch(() => '')).toContain('session-a');
    first.traces.learn('w', 'b', 'session-b');
    await first.end(true);
    const second = await keepTraces(means, path);
    expect(second.traces.sessionFor('w', 'b', 's')).toBe('session-b');
    // Who has lost the root writes nothing into it.
    second.traces.learn('w', 'c', 'session-c');
    await second.end(false);
    expect(await readFile(path, 'utf8')).not.toContain('session-c');
  });

  it.each([
    '',
    '{"v":1,"traces":',
    '{"v":9,"traces":[["k","s",true]]}',
    '{"v":1,"traces":[1,["k"]]}',
  ])('are forgotten where their file is %j, and nothing else happens', async (text) => {
    const path = join(folder, 'traces.json');
    await writeFile(path, text);
    const means = {
      disk: nodeDisk(),
      clock: fakeClock(),
      names: stagingNames(process.pid, systemChance),
    };
    const kept = await keepTraces(means, path);
    expect(kept.traces.kept()).toEqual([]);
    await kept.end(true);
  });
});
