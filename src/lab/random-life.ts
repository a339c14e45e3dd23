import type { Chance } from '#base';
import type { History, Sent } from './history.ts';

const sessions = ['a', 'b', 'c', 'd'] as const;

/** A life of a queue by chance: about `acts` acts, several at once now and then. The same chance gives the same life. */
export function randomLife(chance: Chance, acts: number): (history: History) => Promise<void> {
  let n = 0;
  const letters: { readonly session: string; readonly id: string }[] = [];
  const below = (count: number): number => Math.floor(chance.float() * count);
  const session = (): string => sessions[below(sessions.length)] ?? 'a';

  const request = (): readonly Sent[] =>
    Array.from({ length: 1 + below(3) }, () => {
      n += 1;
      return {
        n,
        session: session(),
        ...(chance.float() < 0.5 ? { eventId: `e${n}` } : {}),
        padding: chance.float() < 0.2 ? below(3000) : below(40),
      };
    });

  const bury = async (history: History): Promise<void> => {
    const of = session();
    const id = await history.bury(of);
    if (id !== undefined) letters.push({ session: of, id });
  };

  const settle = async (history: History): Promise<void> => {
    const letter = letters.shift();
    if (letter === undefined) return;
    if (chance.float() < 0.5) return history.discard(letter.session, letter.id);
    n += 1;
    await history.append({
      n,
      session: letter.session,
      eventId: `requeue-${n}`,
      settles: letter.id,
    });
  };

  const act = async (history: History): Promise<void> => {
    const way = chance.float();
    if (way < 0.4) await history.append(...request());
    else if (way < 0.6) await history.drain(session(), 1 + below(4));
    else if (way < 0.7) await bury(history);
    else if (way < 0.8) await settle(history);
    else if (way < 0.9) await history.tick();
    else await history.checkpoint();
  };

  return async (history) => {
    for (let done = 0; done < acts; done += 1) {
      const together = [act(history)];
      if (chance.float() < 0.2) together.push(history.append(...request()).then(() => undefined));
      await Promise.all(together);
    }
  };
}
