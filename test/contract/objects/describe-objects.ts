import { describe, expect, it } from 'vitest';
import { sha256Hex } from '#base';
import type { ObjectStore } from '#objects';

/** One place where a store keeps its objects between openings. */
export interface ObjectsHarness {
  open(): Promise<ObjectStore>;
  /** Changes the stored bytes of an object behind the store's back. */
  spoil(sha256: string, bytes: Uint8Array): Promise<void>;
  dispose(): Promise<void>;
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text);
const json = 'application/json';

/** What every object store does (D30, P11). */
export function describeObjects(name: string, makeHarness: () => Promise<ObjectsHarness>): void {
  const withStore = async (
    use: (store: ObjectStore, harness: ObjectsHarness) => Promise<void>,
  ): Promise<void> => {
    const harness = await makeHarness();
    try {
      const store = await harness.open();
      await use(store, harness);
      await store.close();
    } finally {
      await harness.dispose();
    }
  };

  describe(`object store ${name}`, () => {
    it('gives back what was put, also after a reopening (P11)', () =>
      withStore(async (store, harness) => {
        const bytes = bytesOf('{"a":"\u2028"}');
        const sha256 = sha256Hex(bytes);
        await store.put(sha256, bytes, json);
        expect(await store.read(sha256)).toEqual(Buffer.from(bytes));
        const again = await harness.open();
        expect(Buffer.from((await again.read(sha256)) ?? [])).toEqual(bytes);
        expect(await again.has(sha256)).toBe(true);
        await again.close();
      }));

    it('knows nothing of what was never put, nor of a name that is no digest', () =>
      withStore(async (store) => {
        const absent = sha256Hex(bytesOf('absent'));
        for (const sha256 of [absent, '', '../../etc/passwd', absent.toUpperCase(), `${absent}0`]) {
          expect(await store.read(sha256)).toBeUndefined();
          expect(await store.has(sha256)).toBe(false);
        }
      }));

    it('takes the same bytes again and side by side without a second copy', () =>
      withStore(async (store) => {
        const bytes = bytesOf('same');
        const sha256 = sha256Hex(bytes);
        await Promise.all(Array.from({ length: 20 }, () => store.put(sha256, bytes, json)));
        await store.put(sha256, bytes, json);
        expect(Buffer.from((await store.read(sha256)) ?? []).toString()).toBe('same');
      }));

    it('refuses bytes that are not those of their name', () =>
      withStore(async (store) => {
        const sha256 = sha256Hex(bytesOf('one'));
        await expect(store.put(sha256, bytesOf('two'), json)).rejects.toThrow(sha256);
        await expect(store.put('../up', bytesOf('two'), json)).rejects.toThrow('SHA-256');
        expect(await store.has(sha256)).toBe(false);
      }));

    it('reports stored bytes that do not match their name, and leaves them as they are (P7, P11)', () =>
      withStore(async (store, harness) => {
        const bytes = bytesOf('sound');
        const sha256 = sha256Hex(bytes);
        await store.put(sha256, bytes, json);
        const damages = [bytesOf('sounD'), bytesOf('soun'), bytesOf('')];
        for (const damage of damages) {
          await harness.spoil(sha256, damage);
          const corrupt = { code: 'OBJECT_CORRUPT', disposition: 'corrupt' };
          await expect(store.read(sha256)).rejects.toMatchObject(corrupt);
          await expect(store.put(sha256, bytes, json)).rejects.toMatchObject(corrupt);
          await expect(store.read(sha256)).rejects.toMatchObject(corrupt);
        }
      }));

    it('takes many objects at once', () =>
      withStore(async (store) => {
        const all = Array.from({ length: 60 }, (_, at) => bytesOf(`object ${at}`));
        await Promise.all(all.map((bytes) => store.put(sha256Hex(bytes), bytes, json)));
        for (const bytes of all) expect(await store.has(sha256Hex(bytes))).toBe(true);
      }));

    it('takes an empty object and one of a megabyte', () =>
      withStore(async (store) => {
        for (const bytes of [new Uint8Array(0), new Uint8Array(2 ** 20).fill(7)]) {
          const sha256 = sha256Hex(bytes);
          await store.put(sha256, bytes, json);
          expect((await store.read(sha256))?.byteLength).toBe(bytes.byteLength);
        }
      }));
  });
}
