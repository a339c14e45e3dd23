import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Chance } from '#base';
import type { ControlDatabase } from '#control';
import { FencePermit } from './permit.ts';

/** The daemon's own lease on its root, for its whole life (FEN-858). */
export interface Tenure {
  readonly permit: FencePermit;
  /** Gives the row back, keeping its generation; false when another had taken it (a warning, FEN-109). The permit ends first. */
  release(): boolean;
  /** The exclusion was found lost: no write begins from now on, and the row is left to its new holder (ING-310). */
  lose(): void;
}

export interface TenureOrder {
  readonly storageRootId: string;
  /** Label for people, such as `daemon`. */
  readonly holder: string;
  readonly chance: Chance;
  /** Highest mark of this domain that a guarded thing carries, where one is ahead of the row (FEN-113). */
  readonly atLeast?: number;
}

export function tenureDomain(storageRootId: string): string {
  return `daemon:${storageRootId}`;
}

/**
 * Takes the tenure at once, whatever the row says: the caller holds `root.lock`, which proves that the former holder ended. No TTL, no
 * renewal: the permit is live until it is released or found lost. The generation is above every one before (FEN-110, QFS-40).
 */
export function takeTenure(control: ControlDatabase, order: TenureOrder): Tenure {
  const domain = tenureDomain(order.storageRootId);
  const token = order.chance.uuid();
  const generation = control.leases.take({
    domain,
    token,
    label: order.holder,
    node: hostname(),
    pid: process.pid,
    ...(order.atLeast === undefined ? {} : { atLeast: order.atLeast }),
  });
  let isLive = true;
  const isCurrent = (): boolean => {
    isLive &&= control.leases.read(domain)?.generation === generation;
    return isLive;
  };
  return {
    permit: FencePermit.issue(domain, generation, holderMark(token), () => isLive, isCurrent),
    release() {
      isLive = false;
      return control.leases.release(domain, token);
    },
    lose() {
      isLive = false;
    },
  };
}

/** What guards store of the holder: a digest, so that nobody can release with what a mark shows (fence.md §2.3). */
function holderMark(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 32);
}
