import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import type { Damage } from '../../src/lab/damage/harm.ts';
import { makeVictim, type Victim } from '../../src/lab/damage/victim.ts';
import { damageOnce } from '../../src/lab/try-damage.ts';

/** More of each by `millrace lab damage --rounds N`, and in `npm run test:long`. */
interface Case {
  readonly what: string;
  readonly path: RegExp;
  readonly harms: readonly Damage['harm'][];
  readonly fates: readonly string[];
}

const cases: readonly Case[] = [
  {
    what: 'the description of a later log generation',
    path: /generation\.00000[1-9]\.json$/,
    harms: ['flip', 'missing', 'empty'],
    fates: ['stopped'],
  },
  {
    what: 'a log whose records are all committed',
    path: /log\.\d+\.jsonl$/,
    harms: ['missing', 'garbage', 'nul-run'],
    fates: ['stopped', 'whole'],
  },
  {
    what: 'an offset record',
    path: /offset\.json$/,
    harms: ['older-copy'],
    fates: ['stopped', 'whole'],
  },
  {
    what: 'a file of dead letters',
    path: /dead(\..*)?\.jsonl$/,
    harms: ['missing', 'empty', 'garbage'],
    fates: ['told', 'whole'],
  },
  { what: 'the state store', path: /data\.mdb$/, harms: ['missing', 'empty'], fates: ['told'] },
  {
    what: 'the journal',
    path: /journal\/.*\.wal$/,
    harms: ['missing', 'empty', 'garbage'],
    fates: ['stopped', 'told'],
  },
  { what: 'the graph', path: /graph\.db$/, harms: ['garbage', 'cut'], fates: ['refused'] },
  {
    what: 'a page of the state store',
    path: /data\.mdb$/,
    harms: ['flip', 'nul-run'],
    fates: ['told', 'whole'],
  },
  {
    what: 'a page of the graph',
    path: /graph\.db$/,
    harms: ['nul-run'],
    fates: ['refused', 'told', 'whole', 'unseen'],
  },
  {
    what: 'a page of the control database',
    path: /control\.db$/,
    harms: ['flip', 'nul-run'],
    fates: ['refused', 'whole'],
  },
  { what: 'the marker of the root', path: /^root\.json$/, harms: ['flip'], fates: ['refused'] },
];

describe('damage to a file of a root', () => {
  let place = '';
  let victim: Victim;

  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'millrace-faults-'));
    victim = await makeVictim(place);
  }, 120_000);
  afterAll(() => rm(place, { recursive: true, force: true }));

  for (const [seed, { what, path, harms, fates }] of cases.entries())
    it(`${what} is named, holds nobody else up, and has a way out (P1, P4, P7)`, async () => {
      const aim = (damage: Damage): boolean =>
        path.test(damage.path) && harms.includes(damage.harm);
      const { damage, met } = await damageOnce(victim, join(place, 'copy'), seed, systemClock, aim);
      expect(met.faults, `${damage.harm} of ${damage.path}`).toEqual([]);
      expect(fates).toContain(met.fate);
    }, 120_000);
});
