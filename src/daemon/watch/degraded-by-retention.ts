import { formatBytes } from '#base';
import type { PartReport, Retention } from '#keeping';
import type { Degradation } from '#ops';

/** Rules that are still in their notice and will take something, and rules that could not be kept. One that is in force is told by `retention` alone. */
export function degradedByRetention(
  retention: Pick<Retention, 'reports'>,
  nowMs: number,
): readonly Degradation[] {
  return retention.reports().flatMap((report) => {
    const { part, trouble, waiting, fromMs } = report;
    if (trouble !== null)
      return [
        {
          code: 'RETENTION_FAILED',
          message: `retention.${part} could not be kept, it is tried again: ${trouble.message}`,
          since: trouble.since,
        },
      ];
    return nowMs < fromMs && waiting.count > 0 ? [begins(report)] : [];
  });
}

function begins({ part, waiting, fromMs, lookedMs }: PartReport): Degradation {
  const many = `${waiting.hasMore ? 'more than ' : ''}${waiting.count}`;
  const from = new Date(waiting.firstMs ?? fromMs).toISOString();
  return {
    code: 'RETENTION_EXPIRES',
    message: `retention.${part} is new: ${many} of its things (${formatBytes(waiting.bytes)}) go from ${from} on; make a backup, or change the rule (millrace retention show)`,
    since: new Date(lookedMs).toISOString(),
  };
}
