import { afterEach, describe, expect, it } from 'vitest';
import { openOps, type OpsFixture } from './ops-fixture.ts';

const open: OpsFixture[] = [];

async function openHere(): Promise<OpsFixture> {
  const fixture = await openOps();
  open.push(fixture);
  return fixture;
}

afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close();
});

const operator = { name: 'ops', scopes: ['ops:read', 'ops:write'] };
const missing = { code: 'OPERATOR_MISSING' };

describe('tokens never lock the operator out unasked (ING-016)', () => {
  it.each([
    { name: 'agents' },
    { ...operator, workspaces: ['w'] },
    { name: 'reader', scopes: ['ops:read'] },
  ])('refuses $name as the first one, unless that is asked for', async (token) => {
    const { call } = await openHere();
    await expect(call('tokens add', token)).rejects.toMatchObject(missing);
    expect(await call('tokens list')).toEqual({ tokens: [] });
    const made = await call('tokens add', { ...token, without_operator: true });
    expect(made).toMatchObject({ name: token.name });
    expect(await call('tokens add', { name: 'second' })).toMatchObject({ name: 'second' });
  });

  it('takes any token after one for the operator, and keeps the last of those', async () => {
    const { call } = await openHere();
    await call('tokens add', operator);
    await call('tokens add', { name: 'agents' });
    await expect(call('tokens revoke', { name: 'ops' })).rejects.toMatchObject(missing);
    await call('tokens add', { ...operator, name: 'ops2' });
    expect(await call('tokens revoke', { name: 'ops' })).toMatchObject({ revoked: true });
    await expect(call('tokens revoke', { name: 'ops2' })).rejects.toMatchObject(missing);
    const revoked = await call('tokens revoke', { name: 'ops2', without_operator: true });
    expect(revoked).toMatchObject({ revoked: true });
  });

  it('counts no operator whose token has expired', async () => {
    const { call, clock } = await openHere();
    const expires_at = new Date(clock.now() + 1000).toISOString();
    await call('tokens add', operator);
    await call('tokens add', { ...operator, name: 'brief', expires_at });
    await clock.advance(1000);
    await expect(call('tokens revoke', { name: 'ops' })).rejects.toMatchObject(missing);
  });

  it('lets the only token go: without any, loopback is open again', async () => {
    const { call } = await openHere();
    await call('tokens add', operator);
    expect(await call('tokens revoke', { name: 'ops' })).toMatchObject({ revoked: true });
  });
});
