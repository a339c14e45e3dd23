import { messageOf, type Clock } from '#base';
import type { NoticeRows } from '#control';
import { expireLetters, noticeMs, type ExpiryReport } from '#dead-letters';
import type { Degradation, OpsContext } from '#ops';
import { daemonNoticed } from '#signals';
import { repeat } from '../repeat.ts';

/** Letters are looked through this often while a retention is set, and soon after a start. */
const lookEveryMs = 10 * 60_000;
const noticeName = 'deadletter.retention';

export interface LetterWatch {
  /** Not empty while letters will expire soon. */
  degraded(): readonly Degradation[];
  /** Letters that will expire within the notice. */
  expiring(): number;
  end(): void;
}

/**
 * Retention of dead letters (ING-713): off unless set. It is told at least a day before the first letter goes, in status, log and metrics, and what it
 * discards is in the audit.
 */
export function watchLetters(
  clock: Clock,
  work: Pick<OpsContext, 'deadLetters' | 'operations'>,
  notices: NoticeRows,
  retentionMs: () => number | null,
): LetterWatch {
  let report: ExpiryReport = { expiring: 0, firstMs: null, expired: 0 };
  let since = '';
  const look = async (): Promise<void> => {
    const keepMs = retentionMs();
    if (keepMs === null) {
      report = { expiring: 0, firstMs: null, expired: 0 };
      return;
    }
    // Another retention is another rule, with its own notice.
    const toldAt = notices.firstTold(`${noticeName}=${keepMs}`);
    report = await expireLetters(
      work.deadLetters,
      { retentionMs: keepMs, toldAtMs: Date.parse(toldAt) },
      clock.now(),
    );
    since = new Date(clock.now()).toISOString();
    if (report.expired > 0)
      work.operations.record({
        operationId: `retention-${since}`,
        verb: 'dead expire',
        principal: 'retention',
        input: { retention_ms: keepMs },
        outcome: 'done',
        count: report.expired,
      });
  };
  const end = repeat(clock, lookEveryMs, () =>
    look().catch((error: unknown) =>
      daemonNoticed.publish(() => ({
        code: 'RETENTION_FAILED',
        message: `dead letters could not be looked through, it is tried again: ${messageOf(error)}`,
      })),
    ),
  );
  return {
    degraded() {
      const keepMs = retentionMs();
      if (report.expiring === 0 || report.firstMs === null || keepMs === null) return [];
      const from = new Date(report.firstMs).toISOString();
      const hours = Math.round(noticeMs(keepMs) / 3_600_000);
      const message = `${report.expiring} dead letters will be discarded by deadletter.retention within ${hours} h, the first at ${from}: requeue or export them, or set a longer one`;
      return [{ code: 'DEAD_LETTERS_EXPIRE', message, since }];
    },
    expiring: () => report.expiring,
    end,
  };
}
