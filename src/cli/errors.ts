import { defineError, type Disposition, type ErrorFactory, MillraceError } from '#base';

/** With `root` where only a root was named, and nobody serves it. */
export const daemonUnreachable: ErrorFactory<{ url: string; reason: string; root?: string }> =
  defineError('DAEMON_UNREACHABLE', 'retry', ({ url, reason, root }) =>
    root === undefined
      ? `no daemon answers at ${url} (${reason}): start one with "millrace serve", or name another with --url, --port or --root`
      : `no daemon serves ${root} (${reason}): start it with "millrace serve --root ${root}", or name another with --url, --port or --root`,
  );

export const usage: ErrorFactory<{ problem: string }> = defineError(
  'USAGE',
  'reject',
  ({ problem }) => `${problem}; see --help`,
);

export const outputFailed: ErrorFactory<{ path: string; reason: string }> = defineError(
  'OUTPUT_FAILED',
  'fatal',
  ({ path, reason }) => `cannot write ${path}: ${reason}`,
);

export const inputUnreadable: ErrorFactory<{ path: string; reason: string }> = defineError(
  'INPUT_UNREADABLE',
  'reject',
  ({ path, reason }) => `cannot read ${path}: ${reason}; check the path and its permissions`,
);

export const serviceForeign: ErrorFactory<{ path: string }> = defineError(
  'SERVICE_FOREIGN',
  'reject',
  ({ path }) =>
    `${path} was not made by "millrace service install": it is left alone; choose another --name`,
);

export const serviceFailed: ErrorFactory<{ command: string; reason: string }> = defineError(
  'SERVICE_FAILED',
  'fatal',
  ({ command, reason }) =>
    `"${command}" failed (${reason}): see what it says, or use "millrace service install --print" and do it by hand`,
);

/** A daemon's answer that is no success, as the error it stands for. The status gives the disposition: bodies are for people. */
export function errorOfAnswer(
  status: number,
  code: string,
  message: string,
  details: unknown,
): MillraceError {
  return new MillraceError(code, dispositionOf(status), message, { status, details });
}

function dispositionOf(status: number): Disposition {
  if (status === 429 || status === 503) return 'retry';
  if (status === 500) return 'corrupt';
  return 'reject';
}
