import { join } from 'node:path';
import { formatBytes, isJsonObject, parseJson } from '#base';
import { createTranslator, type SourceLine } from '#formats';
import { encodeKey, parseEvent, type Key } from '#record';
import { readLegacyLetter, readLegacyLine, DeadPayloads, type LegacyLine } from './read-line.ts';
import type { ImportNeeds, ImportOptions, SessionReport } from './import-report.ts';
import { planStart, type StartPlan } from './plan-start.ts';
import { isLineStart, readSource } from './read-source.ts';
import { BatchSender } from './send-batch.ts';
import type { LegacySession } from './sort-folder.ts';

/** Room for what the envelope adds to an event. */
export const envelopeBytes: number = 64 * 1024;
const idsPerForget = 1000;

type Event = Extract<LegacyLine, { kind: 'event' }>;

/** Takes the log of one session in, in its order; its dead letters come when it is drained. */
export async function importLog(
  needs: ImportNeeds,
  options: ImportOptions,
  session: LegacySession,
): Promise<SessionReport> {
  const plan = await startOf(needs, options, session);
  const isRefused = options.isPendingOnly === true && plan.handledTo === undefined;
  const report: SessionReport = {
    name: session.name,
    log: session.log ?? null,
    offset: { reason: plan.reason, message: plan.message, handled_to: plan.handledTo ?? null },
    state: isRefused ? 'refused' : 'imported',
    lines: 0,
    handled: plan.handledTo === undefined ? null : 0,
    pending: plan.handledTo === undefined ? null : 0,
    queued: 0,
    duplicates: 0,
    refused: 0,
    dead_lines: 0,
    letters: 0,
    letters_taken: 0,
    letters_known: 0,
    letters_waiting: 0,
  };
  if (session.log === undefined || isRefused) return report;
  if (options.doesResetDedup === true) await forgetIds(needs, options, session.log);
  await takeLines(needs, options, session, { report, plan });
  return report;
}

async function startOf(
  { disk, parseOffset }: ImportNeeds,
  { folder }: ImportOptions,
  { log, offset, intent }: LegacySession,
): Promise<StartPlan> {
  const path = log === undefined ? undefined : join(folder, log);
  const stat = path === undefined ? undefined : await disk.stat(path);
  const bytes = offset === undefined ? undefined : await disk.readFile(join(folder, offset));
  const parsed = bytes === undefined ? undefined : parseOffset(bytes);
  const logBytes = stat?.size ?? 0;
  const at = parsed !== undefined && 'offset' in parsed ? parsed.offset : 0;
  const isAligned = path === undefined || at > logBytes || (await isLineStart(disk, path, at));
  return planStart({ offset: parsed, logBytes, isAligned, hasIntent: intent !== undefined });
}

interface Taking {
  readonly report: SessionReport;
  readonly plan: StartPlan;
}

async function takeLines(
  needs: ImportNeeds,
  options: ImportOptions,
  session: LegacySession,
  { report, plan }: Taking,
): Promise<void> {
  const { log = '' } = session;
  const excused = await deadPayloads(needs, options, session);
  const translator = createTranslator({ workspace: options.workspace });
  const refuse = (line: SourceLine, code: string, message: string): void => {
    report.refused += 1;
    options.onRefused(refusedLine(log, line, code, message));
  };
  const sender = new BatchSender<SourceLine>(needs, (line, outcome) => {
    if (outcome.status === 'rejected') refuse(line, outcome.reject.code, outcome.reject.message);
    else if (outcome.status === 'queued') report.queued += 1;
    else report.duplicates += 1;
  });
  for await (const line of readSource(needs.disk, join(options.folder, log), lineBytesMax(needs))) {
    const read: LegacyLine = line.isTooLong
      ? tooLong(needs)
      : readLegacyLine(line.bytes, translator);
    if (read.kind === 'skip') continue;
    const isHandled = plan.handledTo !== undefined && line.byteOffset < plan.handledTo;
    report.lines += 1;
    if (isHandled) report.handled = (report.handled ?? 0) + 1;
    else if (report.pending !== null) report.pending += 1;
    const isDead = excused.take(line.bytes);
    if (isDead) report.dead_lines += 1;
    else if (isHandled && options.isPendingOnly === true) continue;
    else if (read.kind === 'event') await sender.add({ ...read, source: line });
    else refuse(line, line.isTerminated ? read.code : 'TORN_TAIL', tellTorn(line, read.message));
  }
  await sender.flush();
}

function tellTorn({ isTerminated }: SourceLine, message: string): string {
  return isTerminated ? message : `the last line has no end and is no whole record: ${message}`;
}

/** Live letters alone: those of an earlier life of the session excuse nothing (PQ-17). */
async function deadPayloads(
  needs: ImportNeeds,
  { folder }: ImportOptions,
  { dead }: LegacySession,
): Promise<DeadPayloads> {
  const payloads = new DeadPayloads();
  if (dead === undefined) return payloads;
  for await (const { bytes, isTooLong } of readSource(
    needs.disk,
    join(folder, dead),
    letterBytesMax(needs),
  )) {
    const letter = isTooLong ? undefined : readLegacyLetter(bytes);
    if (letter !== undefined) payloads.add(letter.payload);
  }
  return payloads;
}

/** The ids that the log's events have, out of the index: what comes next counts as new (SC-018). */
async function forgetIds(needs: ImportNeeds, options: ImportOptions, log: string): Promise<void> {
  const translator = createTranslator({ workspace: options.workspace });
  const forgetting = new IdForgetter(needs);
  for await (const line of readSource(needs.disk, join(options.folder, log), lineBytesMax(needs))) {
    const read = line.isTooLong ? undefined : readLegacyLine(line.bytes, translator);
    if (read?.kind === 'event') await forgetting.add(read);
  }
  await forgetting.flush();
}

/** Forgets the ids of events, many at once. */
export class IdForgetter {
  readonly #needs: ImportNeeds;
  readonly #ids = new Map<Key, string[]>();
  #count = 0;

  constructor(needs: ImportNeeds) {
    this.#needs = needs;
  }

  async add(event: Event): Promise<void> {
    const identity = identityOf(event, this.#needs);
    if (identity?.eventId === undefined) return;
    this.#ids.set(identity.key, [...(this.#ids.get(identity.key) ?? []), identity.eventId]);
    this.#count += 1;
    if (this.#count >= idsPerForget) await this.flush();
  }

  async flush(): Promise<void> {
    for (const [key, ids] of this.#ids) await this.#needs.forgetIds(key, ids);
    this.#ids.clear();
    this.#count = 0;
  }
}

/** Key and id that admission will give an event; undefined for one that it will refuse. */
export function identityOf(
  { body }: Event,
  { keyEncoding }: ImportNeeds,
): { readonly key: Key; readonly eventId: string | undefined } | undefined {
  const bytes = Buffer.from(body, 'utf8');
  const value = parseJson(bytes);
  const event = isJsonObject(value) ? parseEvent(value, bytes).event : undefined;
  if (event === undefined) return undefined;
  return { key: encodeKey(event.workspace, event.session, keyEncoding), eventId: event.eventId };
}

export function refusedLine(
  file: string,
  { lineNumber, byteOffset, byteLength, bytes }: SourceLine,
  code: string,
  message: string,
): Parameters<ImportOptions['onRefused']>[0] {
  return { file, line: lineNumber, offset: byteOffset, length: byteLength, code, message, bytes };
}

export function lineBytesMax({ eventBytesMax }: ImportNeeds): number {
  return eventBytesMax + envelopeBytes;
}

/** A payload inside a letter has its quotes escaped, or is in base64. */
export function letterBytesMax(needs: ImportNeeds): number {
  return 2 * lineBytesMax(needs);
}

export function tooLong(needs: ImportNeeds): Extract<LegacyLine, { kind: 'reject' }> & {
  readonly code: string;
} {
  const message = `the line is longer than ${formatBytes(lineBytesMax(needs))}`;
  return { kind: 'reject', code: 'EVENT_INVALID', message };
}
