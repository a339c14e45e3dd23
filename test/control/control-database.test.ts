import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { controlSchemaVersion, openControlDatabase, type LeaseOrder } from '#control';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const domain = 'daemon:SR-1';

function order(token: string, atLeast?: number): LeaseOrder {
  const more = atLeast === undefined ? {} : { atLeast };
  return { domain, token, label: 'daemon', node: 'here', pid: 7, ...more };
}

describe('control database', () => {
  it('gives each taker a generation above every one before, over reopening (P6)', async () => {
    await withTemporaryDirectory((root) => {
      const path = join(root, 'control.db');
      const seen: number[] = [];
      for (let round = 0; round < 5; round++) {
        const control = openControlDatabase(path, { clock: systemClock });
        seen.push(control.leases.take(order(`t${round}`)));
        if (round % 2 === 0) expect(control.leases.release(domain, `t${round}`)).toBe(true);
        control.close();
      }
      expect(seen).toEqual([1, 2, 3, 4, 5]);
    });
  });

  it('keeps the generation when the row is released, and frees it for its holder alone', async () => {
    await withTemporaryDirectory((root) => {
      const control = openControlDatabase(join(root, 'control.db'), { clock: systemClock });
      expect(control.leases.read(domain)).toBeUndefined();
      control.leases.take(order('mine'));
      expect(control.leases.release(domain, 'yours')).toBe(false);
      expect(control.leases.read(domain)?.holder).toMatchObject({ label: 'daemon', pid: 7 });
      expect(control.leases.release(domain, 'mine')).toBe(true);
      expect(control.leases.read(domain)).toMatchObject({ generation: 1, holder: null });
      control.close();
    });
  });

  it('goes above a mark that is ahead of the row (FEN-113)', async () => {
    await withTemporaryDirectory((root) => {
      const control = openControlDatabase(join(root, 'control.db'), { clock: systemClock });
      expect(control.leases.take(order('a', 41))).toBe(42);
      expect(control.leases.take(order('b', 7))).toBe(43);
      control.close();
    });
  });

  it('refuses to delete a real domain or to lower its generation (FEN-112)', async () => {
    await withTemporaryDirectory((root) => {
      const path = join(root, 'control.db');
      const control = openControlDatabase(path, { clock: systemClock });
      control.leases.take(order('a', 9));
      control.close();
      const bare = new DatabaseSync(path);
      expect(() => bare.exec('DELETE FROM writer_fence_lease')).toThrow(/never deleted/);
      expect(() => bare.exec('UPDATE writer_fence_lease SET generation = 1')).toThrow(
        /never falls/,
      );
      bare.close();
    });
  });

  it('refuses a newer schema by name and changes nothing', async () => {
    await withTemporaryDirectory((root) => {
      const path = join(root, 'control.db');
      openControlDatabase(path, { clock: systemClock }).close();
      const bare = new DatabaseSync(path);
      bare.exec(
        "INSERT INTO control_schema VALUES (99, 'of the future', '2030-01-01T00:00:00.000Z')",
      );
      bare.close();
      expect(() => openControlDatabase(path, { clock: systemClock })).toThrow(
        expect.objectContaining({
          code: 'FORMAT_TOO_NEW',
          details: expect.objectContaining({ found: 99, known: controlSchemaVersion }),
        }),
      );
    });
  });

  it('says of a file that is no database that it is damaged (P7)', async () => {
    await withTemporaryDirectory(async (root) => {
      const path = join(root, 'control.db');
      await writeFile(path, 'this is a text of more than a hundred bytes '.repeat(40));
      expect(() => openControlDatabase(path, { clock: systemClock })).toThrow(
        expect.objectContaining({ code: 'CONTROL_CORRUPT', disposition: 'corrupt' }),
      );
    });
  });

  it('looks at every page before it is used, unless the last stop vouches for it (P7)', async () => {
    await withTemporaryDirectory(async (root) => {
      const path = join(root, 'control.db');
      openControlDatabase(path, { clock: systemClock }).close();
      const bytes = await readFile(path);
      await writeFile(path, bytes.fill(0, 4096 * 7, 4096 * 9));
      expect(() => openControlDatabase(path, { clock: systemClock })).toThrow(
        expect.objectContaining({ code: 'CONTROL_CORRUPT' }),
      );
      expect((await readFile(path)).equals(bytes)).toBe(true);
      openControlDatabase(path, { clock: systemClock, isAsLeft: true }).close();
    });
  });

  it('answers busy instead of waiting without end when another process writes', async () => {
    await withTemporaryDirectory((root) => {
      const path = join(root, 'control.db');
      const control = openControlDatabase(path, { clock: systemClock, lockWaitMs: 10 });
      const other = new DatabaseSync(path);
      other.exec('BEGIN IMMEDIATE');
      expect(() => control.leases.take(order('a'))).toThrow(
        expect.objectContaining({ code: 'CONTROL_UNAVAILABLE', disposition: 'retry' }),
      );
      other.exec('ROLLBACK');
      expect(control.leases.take(order('a'))).toBe(1);
      other.close();
      control.close();
    });
  });
});
