import { afterEach, expect, it } from 'vitest';
import { recordDead, startLog } from '#signals';

let stop = (): void => undefined;
afterEach(() => stop());

it('writes so many lines a minute of one cause, counts the rest, and says key, position and generation', () => {
  const lines: Record<string, unknown>[] = [];
  let nowMs = 0;
  stop = startLog({
    level: 'info',
    monotonicMs: () => nowMs,
    generation: () => 7,
    stream: { write: (text) => lines.push(JSON.parse(text) as Record<string, unknown>) },
  });
  const die = (code: string, position: string): void =>
    recordDead.publish(() => ({ key: 'w~a', position, code, message: 'no' }));
  for (let at = 0; at < 500; at += 1) die('EVENT_CONTRADICTS', `p${at}`);
  die('HANDLER_FAILED', 'q');
  expect(lines).toHaveLength(21);
  expect(lines[0]).toMatchObject({ key: 'w~a', position: 'p0', generation: 7 });
  nowMs = 60_000;
  die('EVENT_CONTRADICTS', 'last');
  expect(lines.at(-1)).toMatchObject({ position: 'last', omitted: 480 });
});
