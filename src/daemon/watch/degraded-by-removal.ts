import type { SessionRemoval } from '#keeping';
import type { Degradation } from '#ops';
import { sessionDeleting } from '#queue';

/** Deletions that a store keeps from their end: their sessions take nothing meanwhile. */
export function degradedByRemoval(removal: SessionRemoval | undefined): readonly Degradation[] {
  const pending = removal?.pending();
  if (pending === undefined) return [];
  const { count, since, reason } = pending;
  const message = `${count} deletions of sessions are not done yet and go on by themselves (${reason})`;
  return [{ code: sessionDeleting.code, message, since }];
}
