import { join } from 'node:path';
import { encodeKey } from '#record';
import { deadFileName } from '../session/dead-file.ts';
import { type OffsetRecord, offsetRecordName } from '../session/offset-record.ts';
import { markerName } from '../quarantine.ts';
import type {
  FindingCode,
  JournalFacts,
  VerifiedJournal,
  VerifiedKey,
  VerifyFinding,
} from './findings.ts';
import {
  type ByteRange,
  committedOf,
  type FolderFacts,
  generationName,
  logName,
} from './read-folder.ts';

export interface JudgeContext {
  readonly journal: Pick<VerifiedJournal, 'tenure' | 'last_sequence' | 'segments'>;
  readonly facts: JournalFacts | undefined;
  /** A daemon writes this root now: what it may be in the middle of is a note. */
  readonly isLive: boolean;
}

/** Codes that a daemon at work can cause for a moment. */
const passing: ReadonlySet<FindingCode> = new Set<FindingCode>([
  'record_missing',
  'log_missing',
  'log_short',
  'torn_tail',
  'orphan_generation',
  'generation_missing',
  'dead_ahead',
  'count_differs',
  'journal_behind',
]);

type Add = (
  code: FindingCode,
  name: string,
  message: string,
  more?: { readonly isNote?: boolean; readonly from?: number; readonly to?: number },
) => void;

/** From what a folder holds to what is wrong with it (ING-921). Pure. */
export function judgeKey(folder: FolderFacts, context: JudgeContext): VerifiedKey {
  const record = folder.record.status === 'sound' ? folder.record.record : undefined;
  const { generation } = folder;
  const described = generation === 'corrupt' ? undefined : generation;
  const epoch = record?.epoch ?? described?.epoch ?? null;
  const facts =
    context.facts?.epoch === (epoch ?? context.facts?.epoch) ? context.facts : undefined;
  // A later epoch, or a frame that rewrites the key: nothing that stands here now is the last word.
  const isRetold = context.facts !== undefined && (context.facts.isRetold || facts === undefined);
  const findings: VerifyFinding[] = [];
  const add: Add = (code, name, message, { isNote = false, ...range } = {}) => {
    const isHealed = isRetold || (context.isLive && passing.has(code));
    const level = isNote || isHealed ? 'note' : 'finding';
    findings.push({ code, level, path: join(folder.path, name), message, ...range });
  };
  judgeRecord(folder, facts, add);
  if (record !== undefined) judgePosition(folder, record, context, facts, add);
  judgeGenerations(folder, record, facts, add);
  judgeLog(folder, record, facts, add);
  judgeDead(folder, add);
  judgeRest(folder, record, add);
  const committed = committedOf(record, facts);
  return {
    key: folder.key,
    workspace: record?.workspace ?? described?.workspace ?? null,
    session: record?.session_id ?? described?.session_id ?? null,
    state: stateOf(folder, record),
    record_version: record?.v ?? null,
    epoch,
    ordinal: record?.ordinal ?? described?.ordinal ?? null,
    gen: record?.gen ?? described?.gen ?? null,
    base: record?.base ?? described?.base ?? null,
    committed: committed ?? null,
    end: epoch === null ? null : Math.max(folder.log.soundEnd, facts?.end ?? 0),
    is_aligned: folder.log.isAligned,
    ...countsOf(folder, facts, committed ?? folder.log.base),
    dead: folder.dead.live,
    retired: folder.retiredLetters,
    quarantine: folder.quarantine,
    findings,
  };
}

function stateOf(folder: FolderFacts, record: OffsetRecord | undefined): VerifiedKey['state'] {
  if (record !== undefined) return record.state;
  const isEmpty = folder.logs.length === 0 && folder.generations.length === 0;
  return folder.record.status === 'missing' && isEmpty ? 'finalised' : 'unreadable';
}

/** Records of the log, and those that only the journal holds. */
function countsOf(
  { log }: FolderFacts,
  facts: JournalFacts | undefined,
  committed: number,
): { readonly records: number; readonly pending: number } {
  const ahead = [...(facts?.starts ?? [])].filter((at) => at >= log.soundEnd);
  return {
    records: log.records + ahead.length,
    pending: log.recordsBehindCommitted + ahead.filter((at) => at >= committed).length,
  };
}

function judgeRecord(folder: FolderFacts, facts: JournalFacts | undefined, add: Add): void {
  const { record, logs, generations } = folder;
  if (record.status === 'corrupt' || record.status === 'unsupported') {
    // A COMMIT above the mark tells it anew (C9).
    const isNote = record.status === 'corrupt' && facts?.committed !== undefined;
    add(`record_${record.status}`, offsetRecordName, record.message, { isNote });
  }
  if (record.status !== 'missing') return;
  // The first append is in the journal: the next start makes the folder from it (C1).
  const isNote = facts?.toldFrom === 0;
  if (logs.length > 0)
    add(
      'record_missing',
      offsetRecordName,
      'a log without an offset record: it would be drained from its beginning',
      { isNote },
    );
  else if (generations.length > 0)
    add(
      'orphan_generation',
      generationName(folder.gen),
      'a generation file alone: the half of a folder',
      { isNote },
    );
}

function judgePosition(
  { key, log }: FolderFacts,
  record: OffsetRecord,
  { journal }: JudgeContext,
  facts: JournalFacts | undefined,
  add: Add,
): void {
  const { workspace, session_id: session } = record;
  if (key !== encodeKey(workspace, session) && key !== encodeKey(workspace, session, 'hashed'))
    add(
      'key_mismatch',
      offsetRecordName,
      `it names workspace ${JSON.stringify(workspace)} and session ${JSON.stringify(session)}`,
    );
  if (record.offset > record.log_end)
    add(
      'offset_beyond_log',
      offsetRecordName,
      `offset ${record.offset} lies behind the checkpointed end ${record.log_end}`,
    );
  const isTold = facts !== undefined && facts.toldFrom <= record.offset;
  if (record.offset > log.fileEnd && record.offset <= record.log_end)
    add(
      'offset_beyond_log',
      offsetRecordName,
      `offset ${record.offset} lies behind the end ${log.fileEnd} of the log`,
      { isNote: isTold },
    );
  else if (!log.isAligned && record.offset <= log.fileEnd)
    add(
      'offset_misaligned',
      offsetRecordName,
      `offset ${record.offset} is no beginning of a line`,
      { isNote: isTold },
    );
  const { tenure, frame } = record;
  const isAhead =
    tenure > journal.tenure ||
    (frame.tenure === journal.tenure && frame.sequence > journal.last_sequence);
  if (journal.segments > 0 && isAhead)
    add(
      'journal_behind',
      offsetRecordName,
      `it holds frame ${frame.sequence} of tenure ${frame.tenure}; the journal ends with ${journal.last_sequence} of tenure ${journal.tenure}: an older journal was put in its place`,
    );
}

function judgeGenerations(
  folder: FolderFacts,
  record: OffsetRecord | undefined,
  facts: JournalFacts | undefined,
  add: Add,
): void {
  const { gen, generation, generations, logs } = folder;
  const name = generationName(gen);
  const isOpen = record !== undefined || logs.length > 0;
  if (generation === 'corrupt')
    add('generation_corrupt', name, 'its checksum does not match, or it is no JSON');
  else if (generation === undefined && isOpen)
    add('generation_missing', name, 'the log has no generation file', {
      isNote: facts?.toldFrom === 0,
    });
  else if (generation !== undefined && record !== undefined) {
    const { epoch, base } = generation;
    if (epoch !== record.epoch || base !== record.base)
      add(
        'generation_differs',
        name,
        `epoch ${epoch} and base ${base}; the offset record has ${record.epoch} and ${record.base}`,
      );
  }
  if (record === undefined) return;
  for (const other of new Set([...generations, ...logs]))
    if (other !== gen)
      add(
        'orphan_generation',
        logs.includes(other) ? logName(other) : generationName(other),
        `the offset record names generation ${gen}; the next start takes it away`,
        { isNote: true },
      );
}

function judgeLog(
  folder: FolderFacts,
  record: OffsetRecord | undefined,
  facts: JournalFacts | undefined,
  add: Add,
): void {
  const { log, gen } = folder;
  const name = logName(gen);
  const told = facts?.toldFrom ?? Number.POSITIVE_INFINITY;
  const needed = record?.log_end ?? 0;
  if (record !== undefined && record.state === 'open' && log.fileEnd < needed) {
    const isNote = told <= log.fileEnd;
    const code = log.isThere ? 'log_short' : 'log_missing';
    add(code, name, `the log ends at ${log.fileEnd}, and ${needed} was checkpointed`, { isNote });
  }
  for (const range of log.bad) judgeBad(folder, range, { needed, told }, add);
  if (record === undefined || log.badCount > 0 || log.base !== 0 || log.fileEnd < needed) return;
  if (log.recordsBeforeLogEnd !== record.log_records)
    add(
      'count_differs',
      offsetRecordName,
      `it counts ${record.log_records} records up to ${needed}; the log has ${log.recordsBeforeLogEnd}`,
    );
  else if (log.isAligned && log.recordsBeforeOffset !== record.committed_records)
    add(
      'count_differs',
      offsetRecordName,
      `it counts ${record.committed_records} records up to ${record.offset}; the log has ${log.recordsBeforeOffset}`,
    );
}

const heldByJournal = 'the journal holds these records: the next start writes them anew';

function judgeBad(
  { log, gen, dead }: FolderFacts,
  { from, to }: ByteRange,
  { needed, told }: { readonly needed: number; readonly told: number },
  add: Add,
): void {
  const isTold = from >= told;
  const isPassed = dead.passedOver.some((passed) => passed.from <= from && to <= passed.to);
  const place = { from: from - log.base, to: to - log.base, isNote: isTold || isPassed };
  const [code, message] =
    to === log.fileEnd && from >= needed
      ? (['torn_tail', 'what stands behind the last whole line is no record'] as const)
      : (['line_corrupt', 'a record fails its checksum'] as const);
  const passed = 'an operator has passed over it: its bytes are a dead letter';
  add(code, logName(gen), isTold ? heldByJournal : isPassed ? passed : message, place);
}

function judgeDead({ dead, retired, retiredUnreadable }: FolderFacts, add: Add): void {
  for (const { from, to } of dead.unreadable)
    add('dead_unreadable', deadFileName, 'no dead letter: kept, counted and passed over', {
      from,
      to,
    });
  if (dead.ahead > 0)
    add(
      'dead_ahead',
      deadFileName,
      `${dead.ahead} letters are of records behind the committed position: the drain passes over those that lead`,
    );
  if (dead.altered > 0)
    add(
      'dead_digest',
      deadFileName,
      `${dead.altered} payloads do not have the digest that their letter names`,
    );
  if (retiredUnreadable > 0)
    add(
      'dead_unreadable',
      retired[0] ?? deadFileName,
      `${retiredUnreadable} lines of retired letters cannot be read`,
    );
}

function judgeRest(folder: FolderFacts, record: OffsetRecord | undefined, add: Add): void {
  const { quarantine, staging, evidence, unknown } = folder;
  if (quarantine !== null) add('quarantined', markerName, quarantine);
  if (record?.state === 'finalizing')
    add('finalise_unfinished', offsetRecordName, 'the next start completes it', { isNote: true });
  for (const { target, pid } of staging)
    add('staging_leftover', target, `a write of process ${pid} that did not end`, { isNote: true });
  for (const name of evidence) add('evidence_kept', name, 'kept for you', { isNote: true });
  for (const name of unknown) add('file_unknown', name, 'no file of a session');
}
