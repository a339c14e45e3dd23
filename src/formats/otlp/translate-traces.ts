import type { JsonObject, JsonValue } from '#base';
import { defined, listOf, objectOf, shortHash, textOf, type EventDraft } from '../event-draft.ts';
import { attributesOf, nanoTime } from './attributes.ts';
import {
  agentIn,
  answerIn,
  firstText,
  modelIn,
  promptIn,
  providerIn,
  sessionIn,
  toolIn,
  usageIn,
} from './conventions.ts';
import { readSpans, sessionsOf, type Span } from './read-spans.ts';
import { TraceSessions } from './trace-sessions.ts';

/** Events of a request, each with the span or record that it comes from. */
export interface OtlpEvents {
  readonly drafts: readonly { readonly draft: EventDraft; readonly part: number }[];
  /** Spans or records that can be no events, and why the first of them cannot. */
  readonly refused: number;
  readonly reason: string;
}

interface SpanContext {
  readonly span: Span;
  readonly workspace: string;
  readonly session: string;
  /** No agent, model or tool stands above the span in its request: it begins the run of its trace. */
  readonly isRoot: boolean;
  readonly drafts: { readonly draft: EventDraft; readonly part: number }[];
  /** Ends of runs: of equal times they come last. */
  readonly endings: SpanContext['drafts'];
}

/** Spans of agents as the events of the graph; every other span as an event of its own. `known` is what earlier requests said. Throws JsonInvalid. */
export function translateTraces(
  request: JsonObject,
  workspace: string | undefined,
  known: TraceSessions = new TraceSessions(),
): OtlpEvents {
  const { spans, refused, reason } = readSpans(request);
  const byTime = spans.toSorted((a, b) => (a.start < b.start ? -1 : Number(a.start > b.start)));
  for (const [traceId, session] of sessionsOf(byTime)) known.learn(workspace, traceId, session);
  const present = new Map(byTime.map((span) => [`${span.traceId}${span.spanId}`, span]));
  const drafts: { draft: EventDraft; part: number }[] = [];
  const endings: typeof drafts = [];
  const begun = new Set<string>();
  for (const span of byTime) {
    const { traceId, spanId } = span;
    const own = sessionIn(span.attributes);
    const session = own ?? known.sessionFor(workspace, traceId, spanId) ?? traceId;
    const context: SpanContext = {
      span,
      session,
      workspace: workspace ?? textOf(span.resource['service.name']) ?? 'otlp',
      isRoot: isOutermost(span, present),
      drafts,
      endings,
    };
    if (!begun.has(session)) {
      begun.add(session);
      emit(
        context,
        'session:start',
        { source: 'otlp', resource: span.resource },
        { id: 'otlp:start', at: span.start },
      );
    }
    tell(context);
    if ((own ?? sessionIn(span.resource)) !== undefined)
      tellParent(context, known.parentOf(workspace, traceId));
  }
  // Of equal times the order stays.
  const sorted = [...drafts, ...endings].toSorted((a, b) =>
    a.draft.time < b.draft.time ? -1 : Number(a.draft.time > b.draft.time),
  );
  return { drafts: sorted, refused, reason };
}

/** Spans that came before the session was known stay where they are, below it. */
function tellParent(context: SpanContext, parent: string | undefined): void {
  const { span } = context;
  if (parent === undefined) return;
  emit(
    { ...context, session: span.traceId },
    'session:start',
    { source: 'otlp', parent_id: parent },
    { id: 'otlp:parent', at: span.start },
  );
}

/** Spans of servers, databases and the like may stand above a run. */
function isOutermost(span: Span, present: ReadonlyMap<string, Span>): boolean {
  const seen = new Set<Span>();
  for (let above = parentIn(span, present); above !== undefined && !seen.has(above);) {
    if (above.role !== 'other') return false;
    seen.add(above);
    above = parentIn(above, present);
  }
  return true;
}

function parentIn(
  { traceId, parentId }: Span,
  present: ReadonlyMap<string, Span>,
): Span | undefined {
  return parentId === undefined ? undefined : present.get(`${traceId}${parentId}`);
}

function tell(context: SpanContext): void {
  const { span, isRoot } = context;
  if (span.role === 'model') tellModel(context);
  else if (span.role === 'tool') tellTool(context);
  else if (span.role === 'agent' || (span.role === 'chain' && isRoot)) tellAgent(context);
  else
    emit(
      context,
      'otel:span',
      { status: statusOf(span), otel: envelopeOf(span) },
      { at: span.start },
    );
  if (isRoot && span.role === 'model') endRun(context);
}

/** A run is named by its trace, so that spans find it whichever request brought them, in whichever order (B84). */
function beginRun(context: SpanContext): void {
  const { span } = context;
  const prompt = promptIn(span.attributes);
  // Spans of a run repeat its prompt, and each may be the first of its request.
  if (prompt !== undefined)
    emit(
      context,
      'prompt:submit',
      { prompt },
      { id: `otlp:${span.traceId}:prompt:${shortHash(prompt)}`, at: span.start },
    );
  emit(context, 'execution:start', { ...runOf(span), prompt }, { part: 'run', at: span.start });
}

function endRun(given: SpanContext): void {
  const { span } = given;
  const context = { ...given, drafts: given.endings };
  if (span.end === undefined) return;
  const status = statusOf(span);
  const orchestrator =
    agentIn(span.attributes) ?? textOf(span.resource['service.name']) ?? span.name;
  emit(context, 'execution:end', { ...runOf(span), status }, { part: 'run-end', at: span.end });
  emit(
    context,
    'orchestrator:complete',
    { ...runOf(span), orchestrator, status },
    { part: 'complete', at: span.end },
  );
}

/** The outermost agent is the run; one within it is delegated to. */
function tellAgent(context: SpanContext): void {
  const { span, session, isRoot } = context;
  emit(context, 'otel:agent', { otel: envelopeOf(span) }, { part: 'agent', at: span.start });
  if (isRoot) {
    beginRun(context);
    endRun(context);
    return;
  }
  const agent = agentIn(span.attributes) ?? span.name;
  const child = `${session}-agent-${span.spanId}`;
  const told = { agent, sub_session_id: child, parent_session_id: session };
  emit(context, 'delegate:agent_spawned', told, { part: 'spawn', at: span.start });
  const start = { parent_id: session, agent };
  emit({ ...context, session: child }, 'session:start', start, {
    id: 'otlp:start',
    at: span.start,
  });
  if (span.end === undefined) return;
  const isFailed = statusOf(span) === 'error';
  const event = isFailed ? 'delegate:error' : 'delegate:agent_completed';
  emit(
    context,
    event,
    { ...told, success: !isFailed, error: errorOf(span) },
    { part: 'spawn-end', at: span.end },
  );
}

function tellModel(context: SpanContext): void {
  const { span, isRoot } = context;
  const { attributes } = span;
  if (isRoot) beginRun(context);
  const told = { ...runOf(span), provider: providerIn(attributes), model: modelIn(attributes) };
  emit(context, 'provider:request', told, { part: 'request', at: span.start });
  emit(
    context,
    'llm:request',
    { ...told, otel: envelopeOf(span) },
    { part: 'llm', at: span.start },
  );
  if (span.end === undefined) return;
  for (const [at, block] of answerIn(attributes).entries())
    emit(
      context,
      'content_block:end',
      { ...runOf(span), block, block_index: at },
      { part: `block-${at}`, at: span.end },
    );
  emit(
    context,
    'llm:response',
    {
      ...told,
      usage: usageIn(attributes),
      status: statusOf(span),
      error: errorOf(span),
      stop_reason: attributes['gen_ai.response.finish_reasons'],
      response_id: attributes['gen_ai.response.id'],
    },
    { part: 'response', at: span.end },
  );
}

function tellTool(context: SpanContext): void {
  const { span } = context;
  const { name = span.name, callId, input, output } = toolIn(span.attributes);
  const told = { ...runOf(span), tool_name: name, tool_call_id: callId ?? span.spanId };
  emit(
    context,
    'tool:pre',
    { ...told, tool_input: input, otel: envelopeOf(span) },
    { part: 'pre', at: span.start },
  );
  if (span.end === undefined) return;
  const error = errorOf(span);
  if (error === undefined)
    emit(
      context,
      'tool:post',
      { ...told, result: { success: true, output: output ?? null } },
      { part: 'post', at: span.end },
    );
  else emit(context, 'tool:error', { ...told, error }, { part: 'post', at: span.end });
}

/** `part` makes the id, unless there is one that several spans share. */
function emit(
  { span, workspace, session, drafts }: SpanContext,
  event: string,
  data: Readonly<Record<string, JsonValue | undefined>>,
  told: { readonly id?: string; readonly part?: string; readonly at: string },
): void {
  const id = told.id ?? `otlp:${span.traceId}:${span.spanId}:${told.part ?? 'span'}`;
  const draft: EventDraft = { event, workspace, session, time: told.at, id, data: defined(data) };
  drafts.push({ draft, part: span.index });
}

function runOf({ traceId }: Span): { readonly run_name: string } {
  return { run_name: traceId };
}

function statusOf({ object, attributes }: Span): 'success' | 'error' {
  const code = objectOf(object['status'])?.['code'];
  const isError =
    code === 2 || code === 'STATUS_CODE_ERROR' || attributes['error.type'] !== undefined;
  return isError ? 'error' : 'success';
}

function errorOf(span: Span): JsonValue | undefined {
  if (statusOf(span) === 'success') return undefined;
  const message = textOf(objectOf(span.object['status'])?.['message']);
  return message ?? firstText(span.attributes, 'error.type', 'error.message') ?? 'error';
}

/** The whole span once, in its plain form. */
function envelopeOf({
  object,
  attributes,
  resource,
  scope,
  traceId,
  spanId,
  parentId,
  name,
  start,
  end,
}: Span): JsonObject {
  const links = listOf(object['links'])
    .map(objectOf)
    .filter((link) => link !== undefined)
    .map((link) =>
      defined({
        trace_id: link['traceId'],
        span_id: link['spanId'],
        attributes: attributesOf(link['attributes']),
      }),
    );
  const events = listOf(object['events'])
    .map(objectOf)
    .filter((event) => event !== undefined)
    .map((event) =>
      defined({
        name: event['name'],
        time: nanoTime(event['timeUnixNano']),
        attributes: attributesOf(event['attributes']),
      }),
    );
  return defined({
    trace_id: traceId,
    span_id: spanId,
    parent_span_id: parentId,
    name,
    trace_state: textOf(object['traceState']),
    kind: object['kind'],
    start,
    end,
    scope,
    status: object['status'],
    attributes,
    resource,
    events: events.length === 0 ? undefined : events,
    links: links.length === 0 ? undefined : links,
  });
}
