import { getJson, readBooks, type Books } from '../daemon-client.ts';

/** One session as operators and readers of the graph see it, without what differs from run to run. */
export interface SessionView {
  readonly accepted: number;
  readonly applied: number;
  readonly pending: number;
  readonly dead: number;
  readonly discarded: number;
  readonly isFinalised: boolean;
  /** Of its dead letters, live and retired. */
  readonly letters: readonly string[];
  /** Canonical lines of the graph that speak of it. */
  readonly graph: readonly string[];
}

export interface RootView {
  readonly books: Books;
  readonly sessions: ReadonlyMap<string, SessionView>;
  /** Sessions that stand still, each with the code that says why. */
  readonly stopped: ReadonlyMap<string, string>;
  /** What `status` says is wrong, in its words. */
  readonly degraded: readonly string[];
}

interface SessionRow {
  readonly session_id: string;
  readonly accepted: number;
  readonly applied: number;
  readonly pending: number;
  readonly dead: number;
  readonly discarded: number;
  readonly finalised: boolean;
  readonly worker: string | null;
  readonly error: { readonly code: string } | null;
  readonly quarantine: { readonly code: string } | null;
}

interface LetterRow {
  readonly session_id: string;
  readonly event_id?: string | null;
  readonly state: string;
  readonly error: { readonly code: string };
}

/** Reads everything that a promise speaks of over the daemon's own interface. */
export async function readView(url: string, sessions: readonly string[]): Promise<RootView> {
  const status = await getJson<{ degraded: readonly { code: string; message: string }[] }>(
    url,
    '/v1/status',
  );
  const { sessions: rows } = await getJson<{ sessions: readonly SessionRow[] }>(
    url,
    '/v1/sessions?limit=200',
  );
  const letters = await readLetters(url);
  const lines = await readGraphLines(url);
  // Last: what was still on its way when the sessions were read is not told as a backlog.
  const books = await readBooks(url);
  const views = new Map(
    sessions.map((session) => [
      session,
      viewOf(
        rows.find((row) => row.session_id === session),
        letters.filter((letter) => letter.session_id === session),
        lines.filter((line) => line.includes(`"${session}"`) || line.includes(`"${session}__`)),
      ),
    ]),
  );
  return {
    books,
    sessions: views,
    stopped: new Map(rows.flatMap(stopOf)),
    degraded: status.degraded.map(({ code, message }) => `${code}: ${message}`),
  };
}

function stopOf({
  session_id: session,
  quarantine,
  error,
  worker,
}: SessionRow): [string, string][] {
  const code =
    quarantine?.code ?? error?.code ?? (worker === 'mismatched' ? 'GRAPH_MISMATCH' : undefined);
  return code === undefined ? [] : [[session, code]];
}

function viewOf(
  row: SessionRow | undefined,
  letters: readonly LetterRow[],
  graph: readonly string[],
): SessionView {
  return {
    accepted: row?.accepted ?? 0,
    applied: row?.applied ?? 0,
    pending: row?.pending ?? 0,
    dead: row?.dead ?? 0,
    discarded: row?.discarded ?? 0,
    isFinalised: row?.finalised ?? false,
    letters: letters
      .map(({ event_id: id, state, error }) => `${id ?? '-'} ${state} ${error.code}`)
      .toSorted(),
    graph: graph.toSorted(),
  };
}

async function readLetters(url: string): Promise<readonly LetterRow[]> {
  const path = '/v1/dead-letters?limit=200&retired=true';
  const { dead_letters: letters } = await getJson<{ dead_letters: readonly LetterRow[] }>(
    url,
    path,
  );
  return letters;
}

async function readGraphLines(url: string): Promise<readonly string[]> {
  const answer = await fetch(`${url}/v1/graph/export`);
  return (await answer.text()).split('\n').filter((line) => line !== '');
}
