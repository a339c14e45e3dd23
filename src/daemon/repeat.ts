import { assert, type Clock } from '#base';

/**
 * Runs `look` again and again, `everyMs` after the last one ended; never two at once, never holding the process open. A look handles its own
 * failures. Returns the function that ends it.
 */
export function repeat(clock: Clock, everyMs: number, look: () => Promise<void>): () => void {
  assert(everyMs > 0, 'a pause has a length');
  let isOver = false;
  let timer = clock.after(everyMs, run);
  function run(): void {
    void look().finally(() => {
      if (!isOver) timer = clock.after(everyMs, run);
    });
  }
  return () => {
    isOver = true;
    timer.cancel();
  };
}
