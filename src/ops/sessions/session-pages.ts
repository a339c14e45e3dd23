import { queryRowsMax } from '#graph';
import type { KeyStatus } from '#queue';
import type { Key } from '#record';
import type { OpsContext } from '../ops-context.ts';
import { readOffset } from '../offset-token.ts';
import { maySee, statusByIds } from './session-lookup.ts';
import type { Caller } from '../verb.ts';
import { withinWorkspaces } from '../within-workspaces.ts';

export const sessionStates = ['active', 'quarantined', 'backlog', 'dead', 'ended'] as const;
export type SessionState = (typeof sessionStates)[number];

export interface SessionsWanted {
  readonly limit: number;
  readonly pageToken: string | undefined;
  readonly state: SessionState | undefined;
  readonly workspace: string | undefined;
  readonly session: string | undefined;
  /** Text that session id or workspace contain, whatever its case. */
  readonly search: string | undefined;
}

/** What the graph tells of a session. */
export interface SessionNews {
  readonly kind: string | null;
  readonly status: string | null;
  readonly agent: string | null;
  readonly parent: string | null;
  readonly started_at: string | null;
  readonly last_updated: string | null;
  readonly ended_at: string | null;
}

export interface SessionPage {
  readonly sessions: readonly { readonly status: KeyStatus; readonly news?: SessionNews }[];
  readonly nextToken: string | undefined;
}

/** Keys that one request looks at: with a rare match a page may be short, and its token goes on. */
const scannedMax = 5000;
const chunkMax = 500;

/** A page in key order; its token is the last key that was looked at. */
export async function pageByKey(
  context: OpsContext,
  wanted: SessionsWanted,
  caller: Caller,
): Promise<SessionPage> {
  const { limit, state, workspace, session } = wanted;
  const found: { status: KeyStatus }[] = [];
  const chunk = isFiltered(wanted) ? chunkMax : limit;
  let after = wanted.pageToken as Key | undefined;
  for (let scanned = 0; scanned < scannedMax; scanned += chunk) {
    const statuses = await context.ledger.listKeys({
      limit: chunk,
      ...(after === undefined ? {} : { afterKey: after }),
      ...(state === undefined ? {} : ledgerState(state)),
      ...(workspace === undefined ? {} : { workspace }),
      ...(session === undefined ? {} : { session }),
    });
    for (const status of statuses) {
      after = status.key;
      if (maySee(caller, status.workspace) && matches(status, wanted)) found.push({ status });
      if (found.length >= limit) return { sessions: found, nextToken: after };
    }
    if (statuses.length < chunk) return { sessions: found, nextToken: undefined };
    if (!isFiltered(wanted)) break;
  }
  return { sessions: found, nextToken: after };
}

/** A page of sessions that the graph knows, last changed first; its token is a number of rows of that list, of which there are at most 10,000. */
export async function pageByNews(
  context: OpsContext,
  wanted: SessionsWanted,
  caller: Caller,
): Promise<SessionPage> {
  const { limit, workspace } = wanted;
  const offset = readOffset(wanted.pageToken);
  const rowsWanted = isFiltered(wanted) ? queryRowsMax : offset + limit + 1;
  const { rows, columns } = await context.graph.query(
    'sessions',
    withinWorkspaces(
      {
        limit: Math.min(rowsWanted, queryRowsMax),
        ...(workspace === undefined ? {} : { workspace }),
      },
      caller,
    ),
  );
  const found: { status: KeyStatus; news: SessionNews }[] = [];
  for (const [at, cells] of rows.entries()) {
    if (at < offset) continue;
    if (found.length >= limit || at - offset >= scannedMax)
      return { sessions: found, nextToken: String(at) };
    const row = Object.fromEntries(columns.map((column, index) => [column, cells[index]]));
    const { workspace: place, session, ...news } = row as unknown as SessionNews & Ids;
    if (!contains({ workspace: place, session }, wanted.search)) continue;
    // A stub stands in the graph alone: no record of its own has come yet.
    const status = await statusByIds(context, place, session);
    if (status !== undefined && matches(status, wanted)) found.push({ status, news });
  }
  return { sessions: found, nextToken: undefined };
}

interface Ids {
  readonly workspace: string;
  readonly session: string;
}

function isFiltered({ search, state }: SessionsWanted): boolean {
  return search !== undefined || (state !== undefined && state !== 'active');
}

/** What the books can narrow to by themselves. */
function ledgerState(state: SessionState): { state?: 'active' | 'quarantined' | 'dead' } {
  if (state === 'ended') return {};
  return { state: state === 'backlog' ? 'active' : state };
}

function matches(status: KeyStatus, { search, state, session }: SessionsWanted): boolean {
  if (session !== undefined && status.session !== session) return false;
  return hasState(status, state) && contains(status, search);
}

function hasState(status: KeyStatus, state: SessionState | undefined): boolean {
  switch (state) {
    case 'backlog':
      return status.pending > 0;
    case 'dead':
      return status.dead > 0;
    case 'ended':
      return status.isFinalised;
    case 'quarantined':
      return status.quarantine !== null;
    case 'active':
    case undefined:
      return true;
  }
}

function contains({ workspace, session }: Ids, search: string | undefined): boolean {
  if (search === undefined) return true;
  const text = search.toLowerCase();
  return session.toLowerCase().includes(text) || workspace.toLowerCase().includes(text);
}
