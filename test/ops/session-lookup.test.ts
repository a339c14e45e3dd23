import { afterEach, describe, expect, it } from 'vitest';
import { encodeKey } from '#record';
import { testRecord } from '../support/queue-fixtures.ts';
import { openOps, type OpsFixture } from './ops-fixture.ts';

let fixture: OpsFixture | undefined;

afterEach(async () => {
  await fixture?.close();
  fixture = undefined;
});

describe('a session of a root with hashed keys (ING-112)', () => {
  it('is found by its workspace and id, by its id alone, and by its key', async () => {
    fixture = await openOps();
    const record = testRecord({ session: 'hashed', workspace: 'w' });
    const key = encodeKey('w', 'hashed', 'hashed');
    await fixture.queue.append([{ ...record, key }]);
    for (const input of [{ session: 'hashed', workspace: 'w' }, { session: 'hashed' }])
      expect(await fixture.call('sessions show', input)).toMatchObject({ accepted: 1, key });
    expect(await fixture.call('sessions show', { session: key })).toMatchObject({ accepted: 1 });
  });
});
