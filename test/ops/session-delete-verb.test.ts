import { describe, expect, it } from 'vitest';
import type { SessionRemoval } from '#keeping';
import { notes } from '../drain/drain-fixture.ts';
import { openOps, operator, type OpsFixture } from './ops-fixture.ts';

/** A removal that notes what it was asked for. */
function quietRemoval(): SessionRemoval & { readonly removed: string[] } {
  const removed: string[] = [];
  return {
    removed,
    descendants: () => Promise.resolve(['below', 'never-posted']),
    survey: () => Promise.resolve({ nodes: 3, bytes: 900, objects: 1 }),
    quiet: ({ before, limit }) =>
      Promise.resolve(
        ['a', 'below', 'stub']
          .slice(0, limit)
          .map((session) => ({ workspace: 'w', session, lastAt: before })),
      ),
    remove(sessions) {
      removed.push(...sessions.map(({ session }) => session));
      return Promise.resolve({ nodes: 3, edges: 2, objects: 1 });
    },
    resume: () => undefined,
    finish: () => Promise.resolve(),
    pending: () => undefined,
    isBusy: false,
    settled: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}

async function withTwo(
  use: (fixture: OpsFixture, removed: readonly string[]) => Promise<void>,
): Promise<void> {
  const removal = quietRemoval();
  const fixture = await openOps({ context: { removal } });
  try {
    await fixture.queue.append(['a', 'below'].flatMap((session) => notes(session, 1)));
    await use(fixture, removal.removed);
  } finally {
    await fixture.close();
  }
}

describe('sessions prune', () => {
  it('shows what would go, skips what waits or has no log, and says when there is more', () =>
    withTwo(async ({ call }, removed) => {
      const some = await call('sessions prune', { older_than_ms: 86_400_000, limit: 2 });
      expect(some).toMatchObject({ dry_run: true, count: 0, has_more: true });
      const all = await call('sessions prune', { older_than_ms: 86_400_000, dry_run: false });
      expect(all).toMatchObject({ has_more: false, sessions: [] });
      expect(all['skipped']).toEqual([
        { workspace: 'w', session_id: 'a', code: 'SESSION_PENDING' },
        { workspace: 'w', session_id: 'below', code: 'SESSION_PENDING' },
        { workspace: 'w', session_id: 'stub', code: 'SESSION_UNKNOWN' },
      ]);
      expect(removed).toEqual([]);
      const limited = { ...operator, workspaces: ['other'] };
      await expect(
        call('sessions prune', { older_than_ms: 86_400_000, workspace: 'w' }, limited),
      ).rejects.toMatchObject({ code: 'FORBIDDEN' });
    }));
});

describe('sessions delete', () => {
  it('shows what would go, what stands against it, and touches nothing on a dry run', () =>
    withTwo(async ({ call, context }, removed) => {
      const answer = await call('sessions delete', { session: 'a', dry_run: true });
      expect(answer).toMatchObject({
        dry_run: true,
        count: 1,
        removed: null,
        sessions: [
          { session_id: 'a', accepted: 1, nodes: 3, objects: 1, refused: 'SESSION_PENDING' },
        ],
      });
      expect(removed).toEqual([]);
      expect(context.operations.audit({ limit: 1 })[0]).toMatchObject({ count: 0 });
    }));

  it('takes the sessions below it that have a log, when it is asked to', () =>
    withTwo(async ({ call, context }, removed) => {
      await call('sessions delete', { session: 'a', with_sub_sessions: true });
      expect(removed).toEqual(['a', 'below']);
      expect(context.operations.audit({ limit: 1 })[0]).toMatchObject({
        verb: 'sessions delete',
        outcome: 'done',
        count: 2,
      });
    }));

  it('knows no session of a workspace that the caller may not use', () =>
    withTwo(async ({ call }, removed) => {
      const stranger = { ...operator, workspaces: ['other'] };
      await expect(call('sessions delete', { session: 'a' }, stranger)).rejects.toMatchObject({
        code: 'SESSION_UNKNOWN',
      });
      expect(removed).toEqual([]);
    }));

  it('is refused by a store that cannot take a session out', async () => {
    const { call, close } = await openOps();
    await expect(call('sessions delete', { session: 'a' })).rejects.toMatchObject({
      code: 'SESSION_DELETE_UNSUPPORTED',
    });
    await close();
  });
});
