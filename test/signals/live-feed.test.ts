import { afterEach, describe, expect, it } from 'vitest';
import {
  batchCommitted,
  createLiveFeed,
  keyQuarantined,
  recordDead,
  recordsAccepted,
  type LiveFeed,
} from '#signals';
import { fakeClock } from '../support/clock.ts';

let feed: LiveFeed | undefined;
afterEach(() => feed?.stop());

const clock = fakeClock();
function open(messagesMax = 4, life = 'one'): LiveFeed {
  feed = createLiveFeed({ clock, life, messagesMax });
  return feed;
}
const commit = (position: string): void =>
  batchCommitted.publish(() => ({ key: 'w~a', records: 1, position, durationMs: 1, lagMs: 2.4 }));
const never = new AbortController().signal;

describe('the live feed', () => {
  it('asks nothing of the flow while nobody watches, and listens a while after the last has gone (P9)', async () => {
    const live = open();
    const made: number[] = [];
    const accept = (): void =>
      recordsAccepted.publish(() => {
        made.push(1);
        return { groups: [] };
      });
    accept();
    expect(made).toHaveLength(0);
    const end = live.watch();
    accept();
    expect(made).toHaveLength(1);
    end();
    end();
    expect(live.watchers).toBe(0);
    accept();
    expect(made).toHaveLength(2);
    await clock.advance(31_000);
    accept();
    expect(made).toHaveLength(2);
  });

  it('tells what happened, each message once, in order', () => {
    const live = open(10);
    live.watch();
    const { last, messages } = live.read(undefined, 10);
    expect(messages).toEqual([]);
    recordsAccepted.publish(() => ({
      groups: [{ key: 'w~a', workspace: 'w', session: 'a', records: 2, position: 'p0' }],
    }));
    commit('p1');
    recordDead.publish(() => ({ key: 'w~a', position: 'p2', code: 'C', message: 'm' }));
    keyQuarantined.publish(() => ({ key: 'w~a', code: 'C', message: 'm' }));
    const page = live.read(last, 2);
    expect(page).toMatchObject({ missed: 0 });
    expect(page.messages.map(({ message }) => message)).toMatchObject([
      { kind: 'accepted', key: 'w~a', facts: { records: 2 } },
      { kind: 'applied', facts: { position: 'p1', lag_ms: 2 } },
    ]);
    const rest = live.read(page.last, 10);
    expect(rest.messages.map(({ message: { kind } }) => kind)).toEqual(['dead', 'quarantine']);
    expect(live.read(rest.messages.at(-1)?.id, 10).messages).toEqual([]);
  });

  it('keeps so many messages and no more, and tells a slow watcher how many it missed', () => {
    const live = open(4);
    live.watch();
    const { last } = live.read(undefined, 10);
    for (let at = 0; at < 11; at += 1) commit(`p${at}`);
    const page = live.read(last, 100);
    expect(page.missed).toBe(7);
    expect(page.messages.map(({ message }) => message.facts['position'])).toEqual([
      'p7',
      'p8',
      'p9',
      'p10',
    ]);
  });

  it('knows an id of another life, and of none, as such', () => {
    const live = open(4);
    live.watch();
    commit('p0');
    for (const id of ['other-0', 'one-99', 'one', '', 'one-x'])
      expect(live.read(id, 10), id).toMatchObject({ missed: null, last: 'one-1' });
    expect(live.read('one-0', 10)).toMatchObject({ missed: 0 });
  });

  it('wakes who waits, and lets go at the time and at the end', async () => {
    const live = open(4);
    live.watch();
    const { last } = live.read(undefined, 1);
    const woken = live.wait(last, 1000, never);
    commit('p0');
    await woken;
    const late = live.wait(live.read(last, 1).last, 1000, never);
    await clock.advance(1000);
    await late;
    const gone = new AbortController();
    const waiting = live.wait(live.read(last, 1).last, 1000, gone.signal);
    gone.abort();
    await waiting;
  });
});
