import { getJson } from '../daemon-client.ts';

interface Way {
  readonly mode: string;
  readonly applies: boolean;
  readonly reason: string;
}

/** The five ways out, the one that loses least first. */
const modes = ['keep', 'restart-log', 'offset-from-preserved', 'pass-over', 'skip-to-end'] as const;
/** One range of a log at a time is passed over. */
const actsMax = 20;

/** Takes documented ways out of quarantine until none is left (ING-412); what was taken, in order, or why a session stays stopped. */
export async function clearAll(
  url: string,
): Promise<{ readonly taken: readonly string[]; readonly stuck: readonly string[] }> {
  const taken: string[] = [];
  const stuck: string[] = [];
  for (let act = 0; act < actsMax; act += 1) {
    const { quarantine } = await getJson<{ quarantine: readonly { session_id: string }[] }>(
      url,
      '/v1/quarantine',
    );
    const next = quarantine.find(
      ({ session_id: session }) => !stuck.some((one) => one.startsWith(`${session}:`)),
    );
    if (next === undefined) return { taken, stuck };
    const outcome = await clearOne(url, next.session_id);
    (outcome.isDone ? taken : stuck).push(`${next.session_id}: ${outcome.text}`);
  }
  return { taken, stuck: [...stuck, `ways out without end: ${taken.join(', ')}`] };
}

async function clearOne(
  url: string,
  session: string,
): Promise<{ readonly isDone: boolean; readonly text: string }> {
  const shown = await getJson<{ key: string; ways: readonly Way[]; code: string }>(
    url,
    `/v1/quarantine/${session}`,
  );
  const mode = modes.find((one) =>
    shown.ways.some((way) => way.mode === one && way.applies && one !== 'offset-from-preserved'),
  );
  if (mode === undefined) {
    const why = shown.ways.map(({ mode: name, reason }) => `${name}: ${reason}`).join(', ');
    return { isDone: false, text: `no way out applies to ${shown.code} (${why})` };
  }
  const answer = await fetch(`${url}/v1/quarantine/${session}/clear`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      mode,
      dry_run: false,
      ...(mode === 'skip-to-end' ? { confirm: shown.key } : {}),
    }),
  });
  const text = await answer.text();
  return answer.status === 200
    ? { isDone: true, text: mode }
    : { isDone: false, text: `${mode} applies and was refused: ${text}` };
}

/** `millrace graph adopt --yes`: takes the graph that is there (ING-542). */
export async function adopt(url: string): Promise<string> {
  const answer = await fetch(`${url}/v1/graph/adopt`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ dry_run: false }),
  });
  return `graph adopt: ${answer.status}`;
}
