import { assert } from '#base';
import type { IngestAnswer, RecordOutcome, Reject } from '#ingest';
import { envelope } from '../failures/envelope.ts';
import { statusOf } from '../failures/status-of-code.ts';

export interface Reply {
  readonly status: number;
  readonly isReplayed: boolean;
  /** JSON text. */
  readonly body: string;
}

export interface ReplyContext {
  readonly requestId: string;
  /** `POST /events`: a duplicate stays 202 there, and errors carry `detail` (D29, ING-947). */
  readonly isPredecessor: boolean;
}

/** Status and body of a request whose records were judged (D19, ING-912, ING-913). Pure. */
export function eventsReply(answer: IngestAnswer, context: ReplyContext): Reply {
  const { outcomes, rejects } = answer;
  const [first] = rejects;
  if (first !== undefined && rejects.length === outcomes.length)
    return refusal(first, rejects, context);
  return answer.isSingle
    ? singleReply(answer, context)
    : {
        status: first === undefined ? 202 : 207,
        isReplayed: false,
        body: batchBody(answer, context),
      };
}

function singleReply(answer: IngestAnswer, { isPredecessor }: ReplyContext): Reply {
  const [outcome] = answer.outcomes;
  const isReplayed = outcome?.status === 'duplicate' && !isPredecessor;
  return {
    status: isReplayed ? 200 : 202,
    isReplayed,
    body: `{${resultMembers(outcome)},${groupMembers(answer)}}`,
  };
}

/** Rejects first: clients are known to read little more than the status. */
function batchBody(answer: IngestAnswer, { requestId }: ReplyContext): string {
  const refused =
    answer.rejects.length === 0
      ? ''
      : `"rejects":${JSON.stringify(answer.rejects)},"request_id":${JSON.stringify(requestId)},`;
  let text = `{${refused}${groupMembers(answer)},"results":[`;
  let begin = '{"index":';
  for (let index = 0; index < answer.outcomes.length; index += 1) {
    text += `${begin}${index},${resultMembers(answer.outcomes[index])}}`;
    begin = ',{"index":';
  }
  return `${text}]}`;
}

/** Written by hand: these few members are most of what a busy daemon sends. */
function resultMembers(outcome: RecordOutcome | undefined): string {
  assert(outcome !== undefined, 'every record has an outcome');
  if (outcome.status === 'rejected')
    return `"status":"rejected","code":${JSON.stringify(outcome.reject.code)}`;
  return `"status":"${outcome.status}",${sessionMembers(outcome)}${outcome.position}"`;
}

type Stored = Exclude<RecordOutcome, { readonly status: 'rejected' }>;
type SessionPlace = Pick<Stored, 'session' | 'workspace' | 'epoch'>;

/** Sessions whose members are kept; then all are forgotten and written again (P9). */
const sessionsMax = 1024;
const written = new Map<string | null, SessionPlace & { readonly text: string }>();

/** What the results of one session share, up to the text of the position. Both ids can need an escape, and a busy daemon tells them again and again. */
function sessionMembers({ session, workspace, epoch }: SessionPlace): string {
  const known = written.get(session);
  if (known !== undefined && known.workspace === workspace && known.epoch === epoch)
    return known.text;
  if (written.size >= sessionsMax) written.clear();
  const text = `"session_id":${JSON.stringify(session)},"workspace":${JSON.stringify(workspace)},"epoch":"${epoch}","position":"`;
  written.set(session, { session, workspace, epoch, text });
  return text;
}

function groupMembers({ durability, acceptedAt }: IngestAnswer): string {
  return `"durability":"${durability}","accepted_at":"${acceptedAt}"`;
}

/** What was refused of a request in another protocol whose own words have no place for it. */
export function refusalReply(
  answer: IngestAnswer | undefined,
  context: ReplyContext,
): Pick<Reply, 'status' | 'body'> {
  const [first] = answer?.rejects ?? [];
  assert(answer !== undefined && first !== undefined, 'something was refused');
  return refusal(first, answer.rejects, context);
}

/** Nothing was stored: the status of the first reject, and all of them in the details (ING-918). */
function refusal(first: Reject, rejects: readonly Reject[], context: ReplyContext): Reply {
  const status = statusOf(first.code, 'reject');
  const others = rejects.length > 1 ? ` (and ${rejects.length - 1} more records were refused)` : '';
  const failure = {
    status,
    code: first.code,
    message: `${first.message}${others}`,
    retryAfterSeconds: undefined,
    details: { errors: rejects },
  };
  const { requestId: id, isPredecessor } = context;
  return { status, isReplayed: false, body: envelope(failure, { id, isPredecessor }) };
}
