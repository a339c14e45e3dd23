import { describe, expect, it } from 'vitest';
import { memoryState } from '#state';
import { testKey } from '../support/queue-fixtures.ts';
import { edit, folderOf } from '../queue-backends/filesystem/place.ts';
import { recordWith } from '../queue-backends/filesystem/stopped-key.ts';
import { newPlace, openLife } from './adopt-fixture.ts';
import { note } from './drain-fixture.ts';

const key = testKey('a');
const offsetPath = `${folderOf(key)}/offset.json`;

describe('a cursor that is missing beside a committed position', () => {
  it('is the one of the row that the same checkpoint wrote', async () => {
    const place = newPlace();
    const first = await openLife(place);
    await first.post(note('a', 0), note('a', 1));
    await first.drained();
    const before = await first.queue.readCursor(key);
    await first.close();
    await edit(place.disk, offsetPath, (bytes) => recordWith(bytes, { cursor: null }));
    const life = await openLife(place);
    expect(await life.queue.readCursor(key)).toEqual(before);
    await life.post(note('a', 2));
    await life.drained();
    expect((await life.queue.keyStatus(key))?.pending).toBe(0);
    await life.close();
  });

  it('stops its session where no row has it: nothing is folded from an empty one, and nothing is guessed (P5, ING-613)', async () => {
    const place = newPlace();
    const first = await openLife(place);
    await first.post(note('a', 0), note('a', 1), note('b', 0));
    await first.drained();
    await first.close();
    await edit(place.disk, offsetPath, (bytes) => recordWith(bytes, { cursor: null }));
    const life = await openLife({ ...place, state: memoryState(), generation: place.generation });
    await life.post(note('a', 2), note('b', 1));
    await life.drained();
    const status = await life.queue.keyStatus(key);
    expect(status?.quarantine?.code).toBe('CURSOR_CORRUPT');
    expect(status?.pending).toBe(1);
    expect((await life.queue.keyStatus(testKey('b')))?.pending).toBe(0);
    await life.close();
  });
});
