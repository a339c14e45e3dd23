import { messageOf, type Clock } from '#base';
import type { FileLock } from '#disk';
import { daemonNoticed } from '#signals';
import { repeat } from '../repeat.ts';

/** Nothing takes the kernel's lock from a living process; only a deleted or exchanged file does, which a person has to do (ROOT-103). */
const everyMs = 2000;

/** Looks whether `root.lock` is still the file that we hold; `onLost` is called once when it is not (ING-310). */
export function watchRootLock(
  clock: Clock,
  lock: FileLock,
  onLost: (reason: string) => void,
): () => void {
  const end = repeat(clock, everyMs, async () => {
    try {
      if (await lock.stillHeld()) return;
    } catch (error) {
      // A look that fails proves nothing: the kernel still holds the lock, and the next look asks again.
      daemonNoticed.publish(() => ({ code: 'LOCK_UNAVAILABLE', message: messageOf(error) }));
      return;
    }
    end();
    onLost(`${lock.path} is gone or another file`);
  });
  return end;
}
