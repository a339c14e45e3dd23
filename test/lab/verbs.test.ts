import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runJson, runLine } from '../support/command-line.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

interface Report {
  readonly ok: boolean;
  readonly experiment: string;
  readonly seed: number;
  readonly counts: Readonly<Record<string, number | string>>;
  readonly failures: readonly unknown[];
}

describe('millrace lab', () => {
  it('compares with the model from a seed, the same each time', async () => {
    const words = ['lab', 'model', '--commands', '150', '--seed', '9'];
    const report = await runJson<Report>(...words);
    expect(report).toMatchObject({ ok: true, experiment: 'model', seed: 9, failures: [] });
    expect(report.counts['commands']).toBe(150);
    expect((await runJson<Report>(...words)).counts).toEqual(report.counts);
  });

  it('prints the rates of its races', async () => {
    const { code, out, err } = await runLine('lab', 'race', '--rounds', '10');
    expect(code, out + err).toBe(0);
    expect(out).toContain('race: every promise held');
    expect(out).toMatch(/G1 commit against reconcile +\d+ % → 0 %/);
  });

  it('fails calls of the disk and of the stores', async () => {
    const report = await runJson<Report>('lab', 'faults', '--every', '400');
    expect(report).toMatchObject({ ok: true, experiment: 'faults' });
  });

  it('kills daemons that take the events of a file', { timeout: 120_000 }, async () => {
    await withTemporaryDirectory(async (folder) => {
      const data = join(folder, 'events.ndjson');
      const lines = Array.from({ length: 30 }, (_, at) =>
        JSON.stringify({
          event: 'custom:note',
          workspace: 'w',
          data: { session_id: `s-${at % 4}`, timestamp: '2026-01-01T00:00:00Z', at },
        }),
      );
      await writeFile(data, lines.join('\n'));
      const words = ['lab', 'kill', '--rounds', '2', '--data', data];
      const report = await runJson<Report>(...words);
      expect(report).toMatchObject({ ok: true, counts: { kills: 2, events: 30 } });
    });
  });

  it('refuses what is no count, and a file that holds no events', async () => {
    expect((await runLine('lab', 'model', '--commands', 'many')).code).toBe(2);
    expect((await runLine('lab', 'race', '--rounds', '0')).code).toBe(2);
    await withTemporaryDirectory(async (folder) => {
      const data = join(folder, 'none.ndjson');
      await writeFile(data, '{"no":"event"}\n');
      const { code, err } = await runLine('lab', 'kill', '--data', data);
      expect(code).toBe(1);
      expect(err).toContain('LAB_UNREADY');
    });
    expect((await runLine('lab', 'kill', '--data', '/nowhere/at-all')).code).toBe(1);
  });
});
