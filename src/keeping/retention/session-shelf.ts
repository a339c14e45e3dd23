import { isMillraceError, type Clock } from '#base';
import type { NoticeRows } from '#control';
import type { GraphRemoval } from '#graph';
import type { KeyStatus, QueueLedger } from '#queue';
import { encodeKey } from '#record';
import type { SessionRemoval } from '../session-removal.ts';
import { byAge } from './oldest.ts';
import type { RetainedItem, Shelf, Taken } from './shelf.ts';

export interface RetainedSession extends RetainedItem {
  readonly workspace: string;
  readonly session: string;
}

export interface SessionShelfNeeds {
  readonly removal: Pick<SessionRemoval, 'quiet' | 'survey' | 'remove'>;
  readonly graph: Pick<GraphRemoval, 'usedBytes'>;
  readonly ledger: Pick<QueueLedger, 'keyStatus'>;
  readonly notices: NoticeRows;
  readonly clock: Clock;
}

/** Names of what was told of a session begin like this; its last event is part of it, so that one that goes on is told anew. */
const noticePrefix = 'retention.session ';

/**
 * Sessions, for the size of the graph. How old one is, its events say, and so an old transcript that is posted today is old at once: therefore each is told
 * a day before it goes. None goes that has records that wait, dead letters that nobody has settled, or that damage has stopped.
 */
export function sessionShelf(needs: SessionShelfNeeds): Shelf<RetainedSession> {
  const { removal, graph, notices, clock } = needs;
  return {
    part: 'graph',
    atOnce: 50,
    async look(limit) {
      const before = new Date(clock.now()).toISOString();
      const found = await removal.quiet({ before, limit: limit + 1, workspaces: undefined });
      const items = found.slice(0, limit).map(({ workspace, session, lastAt }) => ({
        workspace,
        session,
        name: `${workspace}/${session}`,
        atMs: Date.parse(lastAt),
      }));
      return {
        bytes: await graph.usedBytes(),
        items: items.toSorted(byAge),
        hasMore: found.length > limit,
      };
    },
    async inspect(item) {
      const refused = refusalOf(await statusOf(needs, item));
      if (refused !== undefined) return { bytes: 0, refused };
      return { bytes: (await removal.survey(item)).bytes };
    },
    take: (items) => removeAll(needs, items),
    toldAtMs(items) {
      const named = new Map(items.map((item) => [noticeOfSession(item), item.name]));
      const told = notices.tellOnly(noticePrefix, [...named.keys()]);
      return new Map(
        [...named].map(([notice, name]) => [name, Date.parse(told.get(notice) ?? '')]),
      );
    },
  };
}

function noticeOfSession({ name, atMs }: RetainedSession): string {
  return `${noticePrefix}${name} ${atMs}`;
}

/** A root has keys of one encoding; which one, the backend knows. */
async function statusOf(
  { ledger }: SessionShelfNeeds,
  { workspace, session }: RetainedSession,
): Promise<KeyStatus | undefined> {
  const plain = await ledger.keyStatus(encodeKey(workspace, session));
  return plain ?? ledger.keyStatus(encodeKey(workspace, session, 'hashed'));
}

/** Pure. */
function refusalOf(status: KeyStatus | undefined): string | undefined {
  // Its graph came from elsewhere, or others tell of it alone.
  if (status === undefined) return 'SESSION_UNKNOWN';
  if (status.quarantine !== null) return 'SESSION_QUARANTINED';
  if (status.pending > 0) return 'SESSION_PENDING';
  return status.dead > 0 ? 'SESSION_HAS_DEAD_LETTERS' : undefined;
}

/** All in one deletion; where one of them has come to life meanwhile, one by one. */
async function removeAll(
  needs: SessionShelfNeeds,
  items: readonly RetainedSession[],
): Promise<readonly Taken[]> {
  const free: { item: RetainedSession; key: KeyStatus['key'] }[] = [];
  const taken: Taken[] = [];
  for (const item of items) {
    const status = await statusOf(needs, item);
    const refused = refusalOf(status);
    if (status === undefined || refused !== undefined)
      taken.push({ name: item.name, refused: refused ?? 'SESSION_UNKNOWN' });
    else free.push({ item, key: status.key });
  }
  if (free.length === 0) return taken;
  try {
    await needs.removal.remove(
      free.map(({ key, item: { workspace, session } }) => ({ key, workspace, session })),
    );
    return [...taken, ...free.map(({ item: { name } }) => ({ name }))];
  } catch (error) {
    const code = codeOfRefusal(error);
    if (code === undefined) throw error;
    const [first, ...rest] = free;
    if (first === undefined || rest.length === 0)
      return [...taken, ...free.map(({ item: { name } }) => ({ name, refused: code }))];
    const alone: Taken[] = [];
    for (const { item } of free) alone.push(...(await removeAll(needs, [item])));
    return [...taken, ...alone];
  }
}

function codeOfRefusal(error: unknown): string | undefined {
  if (!isMillraceError(error)) return undefined;
  return ['SESSION_PENDING', 'SESSION_QUARANTINED'].includes(error.code) ? error.code : undefined;
}
