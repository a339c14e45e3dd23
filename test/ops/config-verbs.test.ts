import { expect, it } from 'vitest';
import { openOps, operator } from './ops-fixture.ts';

it('shows the settings in force and reads them again, for who may use all workspaces (ING-932)', async () => {
  const { call, close } = await openOps();
  try {
    expect(await call('config show', { changed: true })).toMatchObject({
      settings: [{ key: 'log.level', value: 'warn', origin: 'command line' }],
    });
    expect(await call('config reload')).toMatchObject({
      applied: [{ key: 'log.level', from: 'warn', to: 'info' }],
      needs_restart: [{ key: 'queue.fsync', from: 'group', to: 'none' }],
    });
    const limited = { ...operator, workspaces: ['w'] };
    for (const name of ['config show', 'config reload'])
      await expect(call(name, {}, limited)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  } finally {
    await close();
  }
});
