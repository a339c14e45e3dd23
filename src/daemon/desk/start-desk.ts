import type { ControlDatabase } from '#control';
import type { Retention } from '#keeping';
import type { OpsContext } from '#ops';
import type { Ground } from '../daemon.ts';
import { degradedByRetention } from '../watch/degraded-by-retention.ts';
import { watchBooks } from '../watch/watch-books.ts';
import { watchLetters, type LetterWatch } from '../watch/watch-letters.ts';

/** What runs for operators beside the flow. */
export interface Desk extends Pick<LetterWatch, 'degraded' | 'expiring'> {
  /** Jobs stop between two steps; the next start goes on with them. */
  stop(): Promise<void>;
}

/** Goes on with the jobs that a former process left, and keeps what is set for how long things stay. */
export function startDesk(
  { clock, options }: Ground,
  control: ControlDatabase,
  context: OpsContext,
  retention: Retention,
): Desk {
  const { config } = options.loaded;
  const books = watchBooks(clock, () => ({
    totals: context.ledger.totals(),
    journalLagBytes: context.journalLagBytes(),
    toldCodes: new Set(context.drain.status().trouble.map(({ code }) => code)),
  }));
  const letters = watchLetters(
    clock,
    context,
    control.notices,
    () => config['deadletter.retention'],
  );
  context.jobs.start();
  retention.start();
  return {
    degraded: () => [
      ...books(),
      ...letters.degraded(),
      ...degradedByRetention(retention, clock.now()),
    ],
    expiring: letters.expiring,
    async stop() {
      letters.end();
      await retention.stop();
      context.feed.stop();
      await context.jobs.stop();
    },
  };
}
