import { describe, expect, it } from 'vitest';
import { WriteTurns } from '../../src/state/write-turns.ts';

function step(told: string[], name: string) {
  const end = Promise.withResolvers<void>();
  const run = async (): Promise<void> => {
    told.push(`${name} begins`);
    await end.promise;
    told.push(`${name} ends`);
  };
  return { ...end, run };
}

describe('turns of writes', () => {
  it('lets steps of one kind run side by side, and those of another wait in their order', async () => {
    const turns = new WriteTurns<'a' | 'b'>();
    const told: string[] = [];
    const [one, two, other, last] = ['one', 'two', 'other', 'last'].map((name) => step(told, name));
    if (!one || !two || !other || !last) throw new Error('there are four');
    const done = [turns.run('a', one.run), turns.run('a', two.run)];
    expect(told, 'at once').toEqual(['one begins', 'two begins']);
    done.push(turns.run('b', other.run), turns.run('a', last.run));
    two.resolve();
    await done[1];
    expect(told).not.toContain('other begins');
    one.resolve();
    await expect.poll(() => told).toContain('other begins');
    expect(told).not.toContain('last begins');
    other.resolve();
    last.resolve();
    await Promise.all(done);
    expect(told.slice(-4)).toEqual(['other begins', 'other ends', 'last begins', 'last ends']);
  });

  it('goes on behind a step that fails, whose caller alone is told', async () => {
    const turns = new WriteTurns<'a' | 'b'>();
    const failing = turns.run('a', async () => Promise.reject(new Error('no room')));
    const next = turns.run('b', async () => 'done');
    await expect(failing).rejects.toThrow('no room');
    expect(await next).toBe('done');
    expect(await turns.run('a', async () => 'again')).toBe('again');
  });
});
