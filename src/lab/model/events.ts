import { mutationRefused } from '#graph';
import type { MillraceError } from '#base';
import type { AppendInput } from '#queue';
import { labRecord } from '../records.ts';

/** A note with it is one that the graph refuses. */
export const refusedMark = 'no graph takes this';

export interface NewRecord {
  readonly n: number;
  readonly session: string;
  readonly choice: number;
}

const families = [
  'custom:note',
  'session:start',
  'prompt:submit',
  'execution:start',
  'provider:request',
  'tool:pre',
  'tool:post',
  'execution:end',
  'orchestrator:complete',
  'session:end',
] as const;

/** Events of every family that numbers its ids, ones that contradict themselves, ones that the store refuses, long ones. */
export function inputOf({ n, session, choice }: NewRecord): AppendInput {
  const way = choice % 20;
  const isContradiction = way === 16 || way === 17;
  const event = isContradiction ? 'session:fork' : (families[way % families.length] ?? '');
  const timestamp = new Date(Date.UTC(2026, 5, 1) + (choice % 7) * 1000 + n).toISOString();
  return labRecord({
    session,
    event,
    ...(choice % 3 === 0 ? {} : { eventId: `event-${n}` }),
    data: {
      n,
      session_id: session,
      timestamp,
      ...(isContradiction ? { parent: session } : {}),
      ...(way === 10 || way === 11 ? { text: refusedMark } : {}),
      ...(way === 0 ? { text: 'x'.repeat(choice % 4000) } : {}),
      ...(event.startsWith('tool:')
        ? { tool_name: 'read', tool_call_id: `call-${choice % 5}`, tool_input: {} }
        : {}),
      ...(event === 'prompt:submit' ? { prompt: `prompt ${n}` } : {}),
    },
  });
}

export function isRefused(raw: Uint8Array): boolean {
  return Buffer.from(raw).includes(refusedMark);
}

export function refusal(session: string): MillraceError {
  return mutationRefused({ session, reason: refusedMark });
}

export function numberOf(raw: Uint8Array): number {
  return (JSON.parse(Buffer.from(raw).toString('utf8')) as { data: { n: number } }).data.n;
}
