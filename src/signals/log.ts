import { destination, pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';
import { systemClock } from '#base';
import {
  applyRetried,
  checkpointed,
  daemonChanged,
  daemonNoticed,
  deadPassed,
  evidenceKept,
  groupApplied,
  journalFailed,
  keyQuarantined,
  opsAudited,
  positionSet,
  recordDead,
  recovered,
  requestFinished,
  tenureTaken,
  workerChanged,
} from './channels.ts';
import { Repeats } from './repeats.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogOptions {
  readonly level: LogLevel;
  /** Standard error when it is not given. */
  readonly stream?: DestinationStream;
  /** The fencing number of this process, once it has one: each line says under which it was written. */
  readonly generation?: () => number | undefined;
  readonly monotonicMs?: () => number;
}

/** Members that would be secrets, wherever they stood; nothing logs them, and this makes sure (ING-018). */
const secretMembers = ['token', 'tokens', 'authorization', 'password', 'secret', 'cookie'];

/**
 * Subscribes the log to the channels: JSON lines to standard error, each with a stable `event` beside readable text, one per change of
 * state; what happens per request or batch shows at `debug` only. Returns the function that ends it.
 */
export function startLog(options: LogOptions): () => void {
  const logger = makeLogger(options);
  const repeats = new Repeats(options.monotonicMs ?? (() => systemClock.monotonic()));
  const ends = [
    ...changesOfState(logger),
    ...trouble(logger),
    ...deadRecords(logger, repeats),
    ...everyStep(logger),
  ];
  return () => {
    for (const end of ends) end();
  };
}

function makeLogger({ level, stream, generation }: LogOptions): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      messageKey: 'message',
      timestamp: stdTimeFunctions.isoTime,
      mixin() {
        const number = generation?.();
        return number === undefined ? {} : { generation: number };
      },
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: secretMembers.flatMap((member) => [member, `*.${member}`]),
        censor: '********',
      },
    },
    stream ?? destination({ dest: 2, sync: true }),
  );
}

function changesOfState(logger: Logger): (() => void)[] {
  return [
    daemonChanged.subscribe(({ state, detail }) => {
      const line = { event: `daemon_${state}` };
      if (state === 'fenced') logger.error(line, detail);
      else logger.info(line, detail);
    }),
    recovered.subscribe((message) => {
      const line = { event: 'queue_recovered', ...message };
      const text = `recovered ${message.keys} keys from ${message.frames} frames in ${Math.round(message.durationMs)} ms`;
      if (message.damagedRanges > 0 || message.tornBytes > 0) logger.warn(line, text);
      else logger.info(line, text);
    }),
    opsAudited.subscribe((message) =>
      logger.info(
        { event: 'audit', ...message },
        `${message.principal}: ${message.verb}: ${message.outcome}`,
      ),
    ),
    tenureTaken.subscribe(({ domain, generation }) =>
      logger.info(
        { event: 'tenure_taken', domain, generation },
        `writes as generation ${generation}`,
      ),
    ),
    daemonNoticed.subscribe(({ code, message }) => logger.warn({ event: 'notice', code }, message)),
  ];
}

function trouble(logger: Logger): (() => void)[] {
  return [
    journalFailed.subscribe(({ segment, code, message, attempt }) => {
      if (isWorthALine(attempt))
        logger.error({ event: 'journal_failed', segment, code, attempt }, message);
    }),
    keyQuarantined.subscribe(({ key, code, message }) =>
      logger.error({ event: 'key_quarantined', key, code }, message),
    ),
    positionSet.subscribe((message) =>
      logger.warn(
        { event: 'position_set', ...message },
        `${message.by}: ${message.key} goes on at ${message.to} (${message.mode})`,
      ),
    ),
    deadPassed.subscribe((message) =>
      logger.warn(
        { event: 'dead_passed', ...message },
        `${message.records} records of ${message.key} are dead letters already and were passed`,
      ),
    ),
    evidenceKept.subscribe(({ path, reason }) =>
      logger.warn({ event: 'evidence_kept', path }, reason),
    ),
    applyRetried.subscribe((message) => {
      if (!isWorthALine(message.attempt)) return;
      logger.warn({ event: 'apply_retried', ...message }, `attempt ${message.attempt} failed`);
    }),
  ];
}

/** Repeats are limited: attempts 1, 2, 4, 8 … so that an outage of an hour is a dozen lines. */
function isWorthALine(attempt: number): boolean {
  return Number.isInteger(Math.log2(attempt));
}

/** One line for each that dies, and a count where a whole backlog does. */
function deadRecords(logger: Logger, repeats: Repeats): (() => void)[] {
  return [
    recordDead.subscribe(({ key, position, code, message }) => {
      const admitted = repeats.admit(code);
      if (admitted === undefined) return;
      const { omitted } = admitted;
      const line = { event: 'record_dead', key, position, code };
      logger.warn(omitted === 0 ? line : { ...line, omitted }, message);
    }),
  ];
}

function everyStep(logger: Logger): (() => void)[] {
  const debug =
    (event: string) =>
    (message: object): void => {
      logger.debug({ event, ...message });
    };
  return logger.isLevelEnabled('debug')
    ? [
        requestFinished.subscribe(debug('request_finished')),
        checkpointed.subscribe(debug('queue_checkpointed')),
        groupApplied.subscribe(debug('group_applied')),
        workerChanged.subscribe(debug('worker_changed')),
      ]
    : [];
}
