import { backendProtocolMismatch } from './errors.ts';
import type { QueueBackend, QueueLedger } from './backend.ts';

/** Semver of `QueueBackend`, on its own (ING-901): 1.0.0 has the cursor required (D23). */
export const queueProtocolVersion = '1.0.0';

type AnyQueue = QueueBackend & QueueLedger;

/** What a backend's module says of itself before anything is opened (ING-108). */
export interface QueuePlug<Options, Opened extends AnyQueue = AnyQueue> {
  readonly name: string;
  /** Semver range of the protocol that it implements: `1.0.0`, `^1.2.0`, `~1.2.0`, `>=1.0.0 <2.0.0`. */
  readonly implementsProtocol: string;
  open(options: Options): Promise<Opened>;
}

/** Opens a backend, or refuses it when its range leaves out the protocol that runs here (BACKEND_PROTOCOL_MISMATCH). */
export async function openQueue<Options, Opened extends AnyQueue>(
  plug: QueuePlug<Options, Opened>,
  options: Options,
): Promise<Opened> {
  assertProtocol(plug.name, plug.implementsProtocol);
  const queue = await plug.open(options);
  if (queue.protocolVersion === queueProtocolVersion) return queue;
  await queue.close();
  throw mismatch(plug.name, queue.protocolVersion);
}

function assertProtocol(backend: string, range: string): void {
  if (!inRange(queueProtocolVersion, range)) throw mismatch(backend, range);
}

function mismatch(backend: string, range: string): Error {
  return backendProtocolMismatch({ backend, range, protocol: queueProtocolVersion });
}

type Version = readonly [major: number, minor: number, patch: number];

const comparatorPattern = /^(\^|~|>=|<=|>|<|=)?(\d+)\.(\d+)\.(\d+)$/;

/** All comparators of a range must hold; a range that cannot be read holds nothing. Pre-releases and `||` are not spoken here. */
export function inRange(version: string, range: string): boolean {
  const is = versionOf(comparatorPattern.exec(version));
  const comparators = range.trim().split(/\s+/);
  return comparators.every((comparator) => {
    const match = comparatorPattern.exec(comparator);
    const than = versionOf(match);
    return is !== undefined && than !== undefined && holds(match?.[1] ?? '=', is, than);
  });
}

function versionOf(match: RegExpExecArray | null): Version | undefined {
  return match === null ? undefined : [Number(match[2]), Number(match[3]), Number(match[4])];
}

function holds(operator: string, is: Version, than: Version): boolean {
  const order = compare(is, than);
  switch (operator) {
    case '^':
      return order >= 0 && compare(is, afterCaret(than)) < 0;
    case '~':
      return order >= 0 && compare(is, [than[0], than[1] + 1, 0]) < 0;
    case '>=':
      return order >= 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '<':
      return order < 0;
    default:
      return order === 0;
  }
}

/** Below 1.0.0 the minor number is the breaking one, below 0.1.0 the patch. */
function afterCaret([major, minor, patch]: Version): Version {
  if (major > 0) return [major + 1, 0, 0];
  return minor > 0 ? [0, minor + 1, 0] : [0, 0, patch + 1];
}

function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
