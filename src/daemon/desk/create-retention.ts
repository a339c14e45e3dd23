import { backupRunning } from '#backup';
import type { Config, ConfigKey } from '#config';
import type { ControlDatabase } from '#control';
import {
  archiveShelf,
  createRetention,
  letterShelf,
  objectShelf,
  sessionShelf,
  type RetainedPart,
  type Retention,
  type RetentionRule,
  type SessionRemoval,
} from '#keeping';
import type { Drain } from '#drain';
import type { Operations } from '#ops';
import type { Clock } from '#base';
import type { Stores } from '../assemble.ts';

export interface RetentionParts {
  readonly config: Config;
  readonly control: ControlDatabase;
  readonly stores: Stores;
  readonly drain: Pick<Drain, 'pause'>;
  readonly removal: SessionRemoval | undefined;
  readonly operations: Pick<Operations, 'record'>;
  readonly clock: Clock;
  readonly isBackupRunning: () => boolean;
}

/** Which parts of this root can let things go by age or size, and the rules in force for them. */
export function createRootRetention(parts: RetentionParts): Retention {
  const { config, control, stores, drain, removal, operations, clock, isBackupRunning } = parts;
  const { graph } = stores.removal ?? {};
  const { notices, expiredObjects: expired } = control;
  return createRetention({
    shelves: [
      ...(removal === undefined || graph === undefined
        ? []
        : [
            sessionShelf({ removal, graph, ledger: stores.queue, notices, clock }),
            objectShelf({ objects: stores.objects, graph, expired, drain, clock }),
          ]),
      archiveShelf(stores.keeping),
      letterShelf(stores.keeping),
    ],
    ruleOf: (part) => ruleIn(config, part),
    notices,
    clock,
    held: () => (isBackupRunning() ? backupRunning({}) : undefined),
    onTaken({ part, rule, count, bytes }) {
      const at = new Date(clock.now()).toISOString();
      operations.record({
        operationId: `retention-${part}-${at}`,
        verb: 'retention run',
        principal: 'retention',
        input: { part, max_age_ms: rule.maxAgeMs, max_bytes: rule.maxBytes, bytes },
        outcome: 'done',
        count,
      });
    },
  });
}

const keys = {
  graph: ['retention.graph.max_age', 'retention.graph.max_bytes'],
  objects: ['retention.objects.max_age', 'retention.objects.max_bytes'],
  archives: ['retention.archives.max_age', 'retention.archives.max_bytes'],
  letters: ['retention.letters.max_age', 'retention.letters.max_bytes'],
} as const satisfies Readonly<Record<RetainedPart, readonly [ConfigKey, ConfigKey]>>;

/** Live: read at each pass. */
function ruleIn(config: Config, part: RetainedPart): RetentionRule {
  const [age, bytes] = keys[part];
  return { maxAgeMs: config[age], maxBytes: config[bytes] };
}
