/**
 * What runs into what, without the guard and with it: the share of rounds in which something was lost, doubled or torn (ING-B04). The real code
 * must do no damage, and each broken variant must do some, or its race shows nothing.
 */
import { rateRace, races, ratesText } from '#lab';
import { rounded, type Question } from './question.ts';

const roundsPerRun = 300;
const roundsSmoke = 30;

export const race: Question = {
  name: 'race',
  asks: 'percent of the rounds of a race that do damage without the guard, and with it (300 rounds each)',
  async run({ isSmoke }) {
    const figures: Record<string, number> = {};
    const gates: Record<string, boolean> = {};
    for (const one of races) {
      const rates = await rateRace(one, isSmoke ? roundsSmoke : roundsPerRun, 1);
      const name = `${one.guard}_${one.name}`.replaceAll(/[^A-Za-z0-9]+/g, '_');
      process.stderr.write(`${one.guard} ${one.name}: ${ratesText(rates)}\n`);
      figures[`${name}_without`] = rounded(rates.broken * 100);
      figures[`${name}_with`] = rounded(rates.real * 100);
      gates[`${name} does no damage with its guard`] = rates.real === 0;
      gates[`${name} does damage without`] = rates.broken > 0;
    }
    return { figures, gates };
  },
};
