import { createKeyLocks } from '#queue';
import { labKey } from '../records.ts';
import { simulatedClock } from '../simulated-clock.ts';
import { lateLocks } from './loose-locks.ts';
import { scatter, type Race } from './race.ts';

/** Tasks come and go on one key: never may two be inside. */
export const guardsUnderChurn: Race = {
  guard: 'G16',
  name: 'guards of a key while tasks come and go',
  defect: 'an await between the look-up of the table and the insert',
  async isDamaged(variant, chance) {
    const locks =
      variant === 'real' ? createKeyLocks({ clock: simulatedClock(), warnMs: 2000 }) : lateLocks();
    let inside = 0;
    let most = 0;
    const visit = async (): Promise<void> => {
      await scatter(chance);
      await locks.with(labKey('churn'), async () => {
        inside += 1;
        most = Math.max(most, inside);
        await scatter(chance);
        inside -= 1;
      });
    };
    await Promise.all(Array.from({ length: 4 }, visit));
    return most > 1;
  },
};
