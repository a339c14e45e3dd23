import { readFile } from 'node:fs/promises';
import { isJsonObject, messageOf, parseJson, type Clock } from '#base';
import { labUnready } from './errors.ts';
import { killAndRespawn, undisturbed } from './kills.ts';
import type { LabFailure, LabReport, Progress } from './report.ts';
import { seededChance } from './seeded-chance.ts';
import { withThrowaway } from './throwaway.ts';
import { deepMessage } from './try-sweep.ts';
import { eventCount, makeWorkload, type WorkloadBatch } from './workload.ts';

export interface KillsOrder {
  readonly rounds: number;
  readonly seed: number;
  /** An NDJSON file of events to post in place of a made workload; each gets an id where it has none. */
  readonly data?: string;
  readonly clock: Clock;
  readonly progress: Progress;
}

const eventsPerBatch = 4;

/** `millrace lab kill`: real daemons on throwaway roots, killed at random moments under load (P1, P3, P4, P5). */
export async function tryKills(order: KillsOrder): Promise<LabReport> {
  const { rounds, seed, data, clock, progress } = order;
  const began = clock.monotonic();
  const batches =
    data === undefined
      ? makeWorkload({ seed, sessions: 12, turns: Math.max(rounds, 3), eventsPerBatch })
      : await readBatches(data);
  const counts = { kills: 0, events: eventCount(batches) };
  const failures: LabFailure[] = [];
  try {
    progress('an undisturbed run, to compare with');
    const expected = await withThrowaway((root) => undisturbed(root, batches));
    const chance = seededChance(seed);
    const onRound = (round: number): void => {
      counts.kills = round;
      progress(`${round} of ${rounds} kills`);
    };
    await withThrowaway((root) =>
      killAndRespawn({ root, batches, expected, rounds, chance, clock, onRound }),
    );
  } catch (error) {
    const from = data === undefined ? '' : ` --data ${data}`;
    failures.push({
      seed,
      message: deepMessage(error),
      replay: `millrace lab kill --rounds ${rounds} --seed ${seed}${from}`,
    });
  }
  return { experiment: 'kill', seed, counts, failures, durationMs: clock.monotonic() - began };
}

/** Lines of a file as requests: a few events of one session each, in the order of the file, with ids that make a second sending harmless. */
async function readBatches(path: string): Promise<readonly WorkloadBatch[]> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw labUnready({ reason: `${path} cannot be read: ${messageOf(error)}` }, error);
  }
  const bySession = new Map<string, string[]>();
  for (const [at, line] of Buffer.from(bytes).toString('utf8').split('\n').entries()) {
    if (line.trim() === '') continue;
    const { session, body } = eventOf(line, at, path);
    bySession.set(session, [...(bySession.get(session) ?? []), body]);
  }
  const batches: WorkloadBatch[] = [];
  for (const [session, bodies] of bySession)
    for (let at = 0; at < bodies.length; at += eventsPerBatch)
      batches.push({ session, bodies: bodies.slice(at, at + eventsPerBatch) });
  return batches;
}

function eventOf(
  line: string,
  at: number,
  path: string,
): { readonly session: string; readonly body: string } {
  const event = parseJson(Buffer.from(line));
  const data = isJsonObject(event) ? event['data'] : undefined;
  const session = isJsonObject(data) ? data['session_id'] : undefined;
  if (!isJsonObject(event) || typeof session !== 'string')
    throw labUnready({ reason: `line ${at + 1} of ${path} is no event of POST /v1/events` });
  const hasId = event['event_id'] !== undefined || event['idempotency_key'] !== undefined;
  if (hasId) return { session, body: line };
  return { session, body: line.replace('{', `{"event_id":"lab-${at}",`) };
}
