import { MillraceError, registeredCodes, unreachable, type Clock } from '#base';
import { failpointsRefused } from './errors.ts';
import { platformError } from './platform-error.ts';

type Action =
  | { readonly kind: 'crash' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'error'; readonly code: string }
  | { readonly kind: 'delay'; readonly ms: number };

interface Armed {
  readonly action: Action;
  /** Fires at this hit alone, 1 for the first; at every hit where it is not given. */
  readonly atHit: number | undefined;
  hits: number;
}

export interface FailpointOptions {
  /** The root's marker says `lab: true`; no other root takes failpoints (ING-021). */
  readonly isLabRoot: boolean;
  readonly clock: Clock;
}

const failpointsMax = 64;
const stopSettleMs = 100;
const delayMsMax = 3_600_000;

let armed: ReadonlyMap<string, Armed> | undefined;
let armedClock: Clock | undefined;

/**
 * A named place where a test may break the program: `await failpoint('checkpoint-renamed')`. With nothing armed it is one comparison.
 * Throws for `error:CODE`, returns a promise for `delay:MS`, and never comes back from `crash`. With `stop` the process stands still there until it gets SIGCONT.
 */
export function failpoint(name: string): Promise<void> | undefined {
  if (armed === undefined) return undefined;
  const point = armed.get(name);
  if (point === undefined) return undefined;
  point.hits += 1;
  if (point.atHit !== undefined && point.hits !== point.atHit) return undefined;
  return fire(name, point.action);
}

/** Whether any is armed: then no two steps with a failpoint between them may be taken as one. */
export function hasFailpoints(): boolean {
  return armed !== undefined;
}

/**
 * Arms what `MILLRACE_FAILPOINTS` says: `name=crash|stop|error:CODE|delay:MS`, each with `@n` for the nth hit alone, several parted by `;`.
 * Throws FAILPOINTS_REFUSED when the root is no lab root or the text is wrong; nothing is armed then.
 */
export function armFailpoints(text: string, options: FailpointOptions): void {
  const items = text.split(';').map((item) => item.trim());
  const points = items.filter((item) => item !== '').map(parseFailpoint);
  if (points.length === 0) return;
  if (!options.isLabRoot)
    throw failpointsRefused({ reason: 'the root is not a lab root, and its data may be real' });
  if (points.length > failpointsMax)
    throw failpointsRefused({ reason: `more than ${failpointsMax} failpoints` });
  armed = new Map(points);
  armedClock = options.clock;
}

export function disarmFailpoints(): void {
  armed = undefined;
  armedClock = undefined;
}

function parseFailpoint(item: string): [string, Armed] {
  const [, name, what, nth] = /^([a-z0-9:._-]+)=([^@]+)(?:@([1-9]\d{0,8}))?$/i.exec(item) ?? [];
  const action = what === undefined ? undefined : parseAction(what);
  if (name === undefined || action === undefined)
    throw failpointsRefused({
      reason: `"${item}" is not name=crash, name=stop, name=error:CODE or name=delay:MS, with @n for the nth hit`,
    });
  return [name, { action, atHit: nth === undefined ? undefined : Number(nth), hits: 0 }];
}

function parseAction(text: string): Action | undefined {
  if (text === 'crash' || text === 'stop') return { kind: text };
  const [, code] = /^error:([A-Z][A-Z0-9_]*)$/.exec(text) ?? [];
  if (code !== undefined) return { kind: 'error', code };
  const [, digits] = /^delay:(\d{1,7})$/.exec(text) ?? [];
  const ms = Number(digits ?? Number.NaN);
  return ms <= delayMsMax ? { kind: 'delay', ms } : undefined;
}

function fire(name: string, action: Action): Promise<void> | undefined {
  switch (action.kind) {
    case 'crash':
      process.kill(process.pid, 'SIGKILL');
      return holdUntilKilled();
    case 'stop':
      process.kill(process.pid, 'SIGSTOP');
      return waitForStop();
    case 'error':
      throw errorOf(name, action.code);
    case 'delay':
      return armedClock?.sleep(action.ms);
    default:
      return unreachable(action);
  }
}

/** The signal is delivered at the next instruction or a little later; no line after the failpoint may run. */
function holdUntilKilled(): never {
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
}

/** The signal may take a moment to reach this thread: it stands still in here, and not a few lines further on. */
function waitForStop(): undefined {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stopSettleMs);
  return undefined;
}

/** One of our own codes keeps its disposition; any other is taken for one of the platform, such as ENOSPC. */
function errorOf(name: string, code: string): Error {
  const own = registeredCodes().find((registered) => registered.code === code);
  if (own === undefined) return platformError(code, 'failpoint', name);
  const message = `failpoint ${name} fails with ${code}: unset MILLRACE_FAILPOINTS to go on`;
  return new MillraceError(code, own.disposition, message, { failpoint: name });
}
