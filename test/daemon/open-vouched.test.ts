import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { systemChance, systemClock } from '#base';
import { nodeDisk, stagingNames } from '#disk';
import { bindRoot } from '#roots';
import { createClosers } from '../../src/daemon/boot/closers.ts';
import { openVouched } from '../../src/daemon/boot/open-vouched.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';

const ground = {
  disk: nodeDisk(),
  clock: systemClock,
  chance: systemChance,
  names: stagingNames(process.pid, systemChance),
};

interface Life {
  readonly hasAgreed: boolean | undefined;
  readonly isCloseFailing?: boolean;
}

/** One life of a root that opens its control database alone; what its note says afterwards. */
async function lifeOf(path: string, life: Life): Promise<{ isAgreed: boolean; note: unknown }> {
  const root = await bindRoot({ path, source: 'cli' }, { ...ground, keyEncoding: 'plain' });
  const closers = createClosers();
  closers.add('root lock', () => root.lock.release());
  const { vouch } = await openVouched({ ...ground, closers }, root);
  vouch.hasAgreed = () => life.hasAgreed;
  if (life.isCloseFailing === true) closers.add('queue', () => Promise.reject(new Error('EIO')));
  await closers.closeAll(systemClock, systemClock.monotonic() + 10_000);
  const text = await readFile(root.layout.closingNote, 'utf8').catch(() => undefined);
  return { isAgreed: vouch.isAgreed, note: text === undefined ? undefined : JSON.parse(text) };
}

describe('the note of a stop', () => {
  it('is left once all is closed, and says what this life knows', () =>
    withTemporaryDirectory(async (path) => {
      const { note } = await lifeOf(path, { hasAgreed: true });
      expect(note).toMatchObject({
        has_agreed: true,
        files: { control: { sha256: expect.any(String) } },
      });
      const next = await lifeOf(path, { hasAgreed: false });
      // There is no graph and no state here, so nothing vouches for their agreement.
      expect(next.isAgreed).toBe(false);
      expect(next.note).toMatchObject({ has_agreed: false });
    }));

  it('is not left by a life whose stores were not open, or are unsure, or could not be closed (P7)', () =>
    withTemporaryDirectory(async (path) => {
      expect((await lifeOf(path, { hasAgreed: undefined })).note).toBeUndefined();
      const failing = await lifeOf(path, { hasAgreed: true, isCloseFailing: true });
      expect(failing.note).toBeUndefined();
    }));
});
