import { afterEach, describe, expect, it } from 'vitest';
import type { Caller } from '#ops';
import { recordDead, recordsAccepted } from '#signals';
import { testKey } from '../support/queue-fixtures.ts';
import { notes } from '../drain/drain-fixture.ts';
import { openOps, operator, verbOf, type OpsFixture } from './ops-fixture.ts';

interface Event {
  readonly id?: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const open: { fixture: OpsFixture; end: () => void }[] = [];
afterEach(async () => {
  for (const { fixture, end } of open.splice(0)) {
    end();
    fixture.context.feed.stop();
    await fixture.close();
  }
});

function parse(text: string): readonly Event[] {
  return text
    .split('\n\n')
    .filter((block) => block.includes('data: '))
    .map((block) => {
      const lines = new Map(
        block.split('\n').map((line) => [line.split(': ')[0], line.slice(line.indexOf(': ') + 2)]),
      );
      const data = JSON.parse(lines.get('data') ?? '{}') as Event['data'];
      const id = lines.get('id');
      return { ...(id === undefined ? {} : { id }), event: lines.get('event') ?? '', data };
    });
}

/** A watcher that reads a write at a time. */
async function watch(
  fixture: OpsFixture,
  input: Readonly<Record<string, unknown>> = {},
  caller: Partial<Caller> = {},
): Promise<{
  next(): Promise<readonly Event[]>;
  /** The next write, however long it takes. */
  later(): Promise<{ readonly events: readonly Event[]; readonly afterMs: number }>;
  end(): void;
}> {
  const gone = new AbortController();
  const chunks = (await verbOf('stream').run(fixture.context, input, {
    ...operator,
    ...caller,
    signal: gone.signal,
  })) as AsyncGenerator<Uint8Array>;
  const end = (): void => gone.abort();
  open.push({ fixture, end });
  const next = async (): Promise<readonly Event[]> => {
    const coming = chunks.next();
    await fixture.clock.advance(200);
    const { value } = await coming;
    return value === undefined ? [] : parse(Buffer.from(value as Uint8Array).toString());
  };
  const later = async () => {
    const beganMs = fixture.clock.monotonic();
    const state = { isOver: false };
    const coming = next().finally(() => {
      state.isOver = true;
    });
    while (!state.isOver) await fixture.clock.advance(50);
    return { events: await coming, afterMs: fixture.clock.monotonic() - beganMs };
  };
  return { next, later, end };
}

const accept = (session: string, workspace = 'w', position = 'p'): void =>
  recordsAccepted.publish(() => ({
    groups: [{ key: testKey(session, workspace), workspace, session, records: 1, position }],
  }));
const kinds = (events: readonly Event[]): readonly string[] => events.map(({ event }) => event);

describe('the live view', () => {
  it('begins with the health, then tells what happens, with ids to come back by', async () => {
    const fixture = await openOps();
    const watcher = await watch(fixture);
    expect(await watcher.next()).toMatchObject([{ event: 'health', data: { state: 'ready' } }]);
    accept('a');
    recordDead.publish(() => ({ key: testKey('a'), position: 'p', code: 'C', message: 'm' }));
    const [first, second] = await watcher.next();
    expect(first).toMatchObject({
      event: 'accepted',
      data: { key: testKey('a'), session_id: 'a', workspace: 'w', records: 1 },
    });
    expect(second).toMatchObject({ event: 'dead', data: { code: 'C', message: 'm' } });
    const again = await watch(fixture, {}, { lastEventId: first?.id ?? '' });
    await again.next();
    expect(kinds(await again.next())).toEqual(['dead']);
  });

  it('sends the books as they change, to who asks for them by name', async () => {
    const fixture = await openOps();
    const watcher = await watch(fixture, { kinds: 'books' });
    await watcher.next();
    expect(await watcher.next()).toMatchObject([
      { event: 'books', data: { accepted: 0, state: 'ready' } },
    ]);
    await fixture.queue.append(notes('a', 2));
    const news = await watcher.later();
    expect(news.events).toMatchObject([{ event: 'books', data: { accepted: 2, applied: 2 } }]);
    expect(news.afterMs).toBeLessThan(1500);
    const same = await watcher.later();
    expect(same.events).toMatchObject([{ event: 'books', data: { accepted: 2 } }]);
  });

  it('shows what its filter means, and nothing of workspaces that the caller may not use', async () => {
    const fixture = await openOps();
    const watchers = await Promise.all([
      watch(fixture, { session: 'a', kinds: 'accepted' }),
      watch(fixture, { workspace: 'v', kinds: 'accepted' }),
      watch(fixture, { key: testKey('b'), kinds: 'accepted,dead' }),
      watch(fixture, {}, { workspaces: ['v'] }),
    ]);
    for (const { next } of watchers) await next();
    accept('a');
    accept('b');
    accept('c', 'v');
    const seen = await Promise.all(watchers.map(({ next }) => next()));
    expect(seen.map((events) => events.map(({ data }) => data['session_id']))).toEqual([
      ['a'],
      ['c'],
      ['b'],
      ['c'],
    ]);
  });

  it('tells a slow watcher what it missed, and holds no more for it than for a fast one (P9)', async () => {
    const fixture = await openOps();
    const slow = await watch(fixture);
    await slow.next();
    for (let at = 0; at < 9000; at += 1) accept('a', 'w', String(at));
    const events = await slow.next();
    expect(events[0]).toMatchObject({ event: 'missed', data: { count: 9000 - 8192 } });
    expect(events).toHaveLength(501);
  });

  it('says after a restart that it does not know what was missed, and ends with its caller', async () => {
    const fixture = await openOps();
    const watcher = await watch(fixture, {}, { lastEventId: 'otherlife-7' });
    await watcher.next();
    expect(await watcher.next()).toMatchObject([{ event: 'missed', data: { count: null } }]);
    watcher.end();
    expect(await watcher.next()).toEqual([]);
    expect(fixture.context.feed.watchers).toBe(0);
  });
});
