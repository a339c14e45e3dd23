import { openControlDatabase, type ControlDatabase } from '#control';
import { judgeLeft, leaveClosingNote, type BoundRoot, type LeftVerdicts } from '#roots';
import type { Ground } from '../daemon.ts';

/** What the last stop says about the stores, and what this one will say. */
export interface Vouch {
  readonly verdicts: LeftVerdicts;
  /** Queue and graph lie there as they were left after they had agreed. */
  readonly isAgreed: boolean;
  /**
   * Whether queue and graph agree, for the next start to rely on; asked once everything is closed. Undefined before all stores are open, and where they
   * are another's or damaged by then: no note is left.
   */
  hasAgreed: () => boolean | undefined;
}

/**
 * Compares the stores with what the last stop left (SC-052), opens the control database, and has a note left once all is closed in order: every opener
 * of a root goes through here, so that no note stays behind that speaks of other bytes.
 */
export async function openVouched(
  { disk, names, clock, closers }: Pick<Ground, 'disk' | 'names' | 'clock' | 'closers'>,
  { layout, left }: BoundRoot,
): Promise<{ readonly control: ControlDatabase; readonly vouch: Vouch }> {
  const verdicts = await judgeLeft(disk, layout, left);
  const isAgreed =
    left?.hasAgreed === true && verdicts.state === 'same' && verdicts.graph === 'same';
  const vouch: Vouch = { verdicts, isAgreed, hasAgreed: () => undefined };
  closers.add('closing note', async (_, failed) => {
    const hasAgreed = vouch.hasAgreed();
    if (hasAgreed !== undefined && failed.length === 0)
      await leaveClosingNote({ disk, names, clock }, layout, hasAgreed);
  });
  const control = openControlDatabase(layout.controlDatabase, {
    clock,
    isAsLeft: verdicts.control === 'same',
  });
  closers.add('control database', () => control.close());
  return { control, vouch };
}
