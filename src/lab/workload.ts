import { seededChance } from './seeded-chance.ts';

/** One request of a workload: events of one session, in order, each with an id. */
export interface WorkloadBatch {
  readonly session: string;
  readonly bodies: readonly string[];
}

export interface WorkloadOptions {
  readonly seed: number;
  readonly sessions: number;
  /** Turns of each session; a turn is about ten events. */
  readonly turns: number;
  readonly eventsPerBatch: number;
}

/** Sessions as an agent makes them: start, turns with runs, iterations, blocks and tool calls, some sub-sessions, some ends. Repeatable. */
export function makeWorkload(options: WorkloadOptions): readonly WorkloadBatch[] {
  const chance = seededChance(options.seed);
  const perSession = Array.from({ length: options.sessions }, (_, number) => {
    const session = `work-${options.seed}-${number}`;
    const parent = number > 0 && chance.float() < 0.3 ? `work-${options.seed}-${number - 1}` : null;
    const events = sessionEvents(session, parent, options.turns, chance.float() < 0.5);
    return cut(session, events, options.eventsPerBatch);
  });
  const batches: WorkloadBatch[] = [];
  while (perSession.some((queue) => queue.length > 0)) {
    const waiting = perSession.filter((queue) => queue.length > 0);
    const next = waiting[Math.floor(chance.float() * waiting.length)]?.shift();
    if (next !== undefined) batches.push(next);
  }
  return batches;
}

export function eventCount(batches: readonly WorkloadBatch[]): number {
  return batches.reduce((sum, { bodies }) => sum + bodies.length, 0);
}

/** Bodies of one session that nobody else's events speak of: a start where `from` is 0, and some turns. The same numbers give the same bodies. */
export function makeTurns(session: string, from: number, count: number): readonly string[] {
  const turns = Array.from({ length: count }, (_, at) => turnEvents(session, from + at)).flat();
  const start: Event = { event: 'session:start', data: { parent_id: null } };
  return bodiesOf(session, from === 0 ? [start, ...turns] : turns, from === 0 ? 0 : from * 10 + 1);
}

interface Event {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

function cut(session: string, events: readonly Event[], size: number): WorkloadBatch[] {
  const bodies = bodiesOf(session, events, 0);
  const batches: WorkloadBatch[] = [];
  for (let at = 0; at < bodies.length; at += size)
    batches.push({ session, bodies: bodies.slice(at, at + size) });
  return batches;
}

function bodiesOf(session: string, events: readonly Event[], from: number): readonly string[] {
  return events.map(({ event, data }, index) => {
    const at = from + index;
    const own = { session_id: session, timestamp: timeOf(at), ...data };
    return JSON.stringify({ event, workspace: 'work', event_id: `${session}-${at}`, data: own });
  });
}

function timeOf(at: number): string {
  return new Date(Date.UTC(2026, 5, 1) + at * 137).toISOString();
}

function sessionEvents(
  session: string,
  parent: string | null,
  turns: number,
  hasEnd: boolean,
): Event[] {
  const start: Event = { event: 'session:start', data: { parent_id: parent } };
  const body = Array.from({ length: turns }, (_, turn) => turnEvents(session, turn)).flat();
  return [start, ...body, ...(hasEnd ? [{ event: 'session:end', data: {} }] : [])];
}

function turnEvents(session: string, turn: number): Event[] {
  const prompt = `turn ${turn} of ${session}`;
  const call = `call-${session}-${turn}`;
  const input = { file_path: `/src/part-${turn % 7}.ts` };
  return [
    { event: 'prompt:submit', data: { prompt } },
    { event: 'execution:start', data: { prompt } },
    { event: 'provider:request', data: { provider: 'test', iteration: 1 } },
    {
      event: 'content_block:start',
      data: { block_type: 'tool_use', block_index: 0, total_blocks: 1 },
    },
    {
      event: 'content_block:end',
      data: { block_index: 0, total_blocks: 1, block: { type: 'tool_use', id: call } },
    },
    {
      event: 'tool:pre',
      data: { tool_name: 'read_file', tool_call_id: call, tool_input: input },
    },
    {
      event: 'tool:post',
      data: {
        tool_name: 'read_file',
        tool_call_id: call,
        tool_input: input,
        result: { success: true, output: 'x'.repeat(200) },
      },
    },
    { event: 'custom:note', data: { text: `a note ${turn}` } },
    { event: 'execution:end', data: { status: 'success' } },
    { event: 'orchestrator:complete', data: { orchestrator: 'loop-basic', turn_count: 1 } },
  ];
}
