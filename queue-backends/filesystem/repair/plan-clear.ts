import { type ClearMode, type ClearWay, clearModes } from '#queue';
import type { Examination } from './examine.ts';

/** What decides which ways out there are. */
export interface ClearFacts {
  readonly key: string;
  readonly base: number;
  readonly end: number;
  /** Code of the damage that stopped the key. */
  readonly code: string;
  readonly found: Pick<
    Examination,
    'standing' | 'recordFault' | 'fallback' | 'generation' | 'ahead'
  >;
  /** The generation file is on disk, or can be told anew. */
  readonly hasGeneration: boolean;
  /** Without it a new generation can begin where the key stands. */
  readonly mayBeginAnew: boolean;
  readonly preserved: readonly string[];
}

const applies = { applies: true } as const;

/** Each way out with whether it can be taken, and why or why not (ING-412). Pure. */
export function planWays(facts: ClearFacts): readonly ClearWay[] {
  return clearModes.map((mode) => ({ mode, ...judges[mode](facts) }));
}

const goOn = 'record, generation file and log can be read: go on where it stood';
const goOnAnew =
  'record and log can be read: go on where it stood, in a generation of the log that begins there';

type Judgement = Omit<ClearWay, 'mode'>;

const refused = (reason: string): Judgement => ({ applies: false, reason });

const judges: Readonly<Record<ClearMode, (facts: ClearFacts) => Judgement>> = {
  keep({ found, hasGeneration, mayBeginAnew }) {
    if (found.standing === undefined)
      return refused(`the offset record is still damaged (${found.recordFault ?? 'unknown'})`);
    if (!hasGeneration && !mayBeginAnew)
      return refused('the generation file is still missing or damaged');
    if (found.standing.cursor === undefined) return refused('its cursor is still damaged');
    const [first] = found.ahead.damage;
    return first === undefined
      ? { ...applies, reason: hasGeneration ? goOn : goOnAnew }
      : refused(`the log is still damaged at ${first.from}…${first.to}`);
  },
  'offset-from-preserved'({ preserved, hasGeneration }) {
    if (!hasGeneration) return refused('the generation file is missing or damaged');
    return preserved.length === 0
      ? refused('no file offset.* is kept in its folder')
      : { ...applies, reason: 'take position and cursor of a file kept in the folder' };
  },
  'restart-log'({ base, hasGeneration, found }) {
    if (base > 0) return refused(`its log begins at ${base}: what came before was compacted away`);
    if (!hasGeneration) return refused('the generation file is missing or damaged');
    if (found.standing !== undefined && found.ahead.damageCount > 0)
      return refused('its offset record is sound, and the log would be met damaged again');
    return {
      ...applies,
      reason: 'fold the whole log again from its beginning; the graph stays as it is',
    };
  },
  'skip-to-end'(facts) {
    const reason = cursorFault(facts);
    return reason === undefined
      ? { ...applies, reason: 'make everything that waits dead letters; needs --confirm KEY' }
      : refused(reason);
  },
  'pass-over'(facts) {
    const { damageCount, damage } = facts.found.ahead;
    const [first] = damage;
    if (first === undefined) return refused('no damage lies in what waits of its log');
    const reason = cursorFault(facts);
    if (reason !== undefined) return refused(reason);
    const more = damageCount > 1 ? `, the first of ${damageCount} damaged ranges` : '';
    return {
      ...applies,
      reason: `make the bytes ${first.from}…${first.to} one dead letter${more} and go on behind them`,
    };
  },
};

/** Why the cursor at the position cannot be known; undefined when it can. */
function cursorFault({ found, hasGeneration }: ClearFacts): string | undefined {
  if (found.standing?.cursor !== undefined || hasGeneration) return undefined;
  return 'the offset record and the generation file are both damaged, so its cursor cannot be folded';
}
