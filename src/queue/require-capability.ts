import { capabilityMissing } from './errors.ts';
import type { QueueBackend, QueueCapabilities } from './backend.ts';

/**
 * For callers of what not every queue can do, such as compaction: CAPABILITY_MISSING rather than a silent nothing. Differences between
 * backends are data, never a type check.
 */
export function requireCapability(
  queue: Pick<QueueBackend, 'capabilities'>,
  capability: keyof QueueCapabilities & ('ordered' | 'logStructured'),
  backend: string,
): void {
  if (!queue.capabilities[capability]) throw capabilityMissing({ backend, capability });
}
