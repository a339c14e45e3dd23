import { isMillraceError, messageOf, type Chance, type Clock } from '#base';
import type { RemovalRow, RemovalRows } from '#control';
import { failpoint } from '#disk';
import type { Drain } from '#drain';
import type { FencePermit } from '#fence';
import type { GraphRemoval, RemovedSession } from '#graph';
import { draining, type KeyRemoval } from '#queue';
import type { Key } from '#record';
import { daemonNoticed } from '#signals';
import { whilePaused } from './pause-drain.ts';
import type { WatchedObjects } from './watched-objects.ts';

/** What a deletion takes, or would take, of one session beside its log. */
export interface SessionTraces {
  /** Nodes that it owns in the graph. */
  readonly nodes: number;
  /** Bytes that the graph gets free, about. */
  readonly bytes: number;
  /** Large values that its nodes name. */
  readonly objects: number;
}

export interface RemovedCounts {
  readonly nodes: number;
  readonly edges: number;
  /** Large values that nobody else names. */
  readonly objects: number;
}

/**
 * Deletes sessions, from all stores or from none. The order: (1) each key is shut and its epoch ended, or all is left as it is; (2) a row in the
 * control database says what goes, durable: from here on the deletion is carried to its end, by this process or by a later one; (3) the graph,
 * one transaction; (4) the queue, one frame of the journal per key, then ids, folder and rows; (5) objects that nobody names any more; (6) the
 * row goes, and the keys are open for a new life. Steps 3 to 6 may each be repeated.
 */
export interface SessionRemoval {
  /** Sessions below one, nearest first, by the graph. */
  descendants(of: {
    readonly workspace: string;
    readonly session: string;
  }): Promise<readonly string[]>;
  survey(of: { readonly workspace: string; readonly session: string }): Promise<SessionTraces>;
  /** Sessions of which nothing came since a time, longest quiet first. */
  quiet: GraphRemoval['quiet'];
  /**
   * Rejects with SESSION_PENDING or SESSION_QUARANTINED, nothing changed; with what a store says when a later step fails: the sessions
   * stay shut then, and the deletion goes on by itself until it is done.
   */
  remove(sessions: readonly RemovedSession[]): Promise<RemovedCounts>;
  /** Keeps the keys of deletions that were cut off shut, before anything is taken; `finish` then carries them to their end. */
  resume(): void;
  /** Carries every deletion that was begun to its end. */
  finish(): Promise<void>;
  /** Deletions that wait to be carried on, and the last failure of one. */
  pending():
    | { readonly count: number; readonly since: string; readonly reason: string }
    | undefined;
  /** Sessions are being deleted at this moment. */
  readonly isBusy: boolean;
  /** Resolves when those at work have ended. */
  settled(): Promise<void>;
  /** Nothing more is begun; resolves when the step at work has ended. */
  stop(): Promise<void>;
}

export interface SessionRemovalNeeds {
  readonly rows: RemovalRows;
  readonly queue: KeyRemoval;
  readonly graph: GraphRemoval;
  readonly objects: WatchedObjects;
  readonly drain: Pick<Drain, 'pause' | 'worker' | 'resume'>;
  readonly permit: FencePermit;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Throws while something reads all stores as of one instant. */
  assertQuiet(): void;
}

const retryMs = 5000;

export function createSessionRemoval(needs: SessionRemovalNeeds): SessionRemoval {
  return new Removal(needs);
}

class Removal implements SessionRemoval {
  readonly #needs: SessionRemovalNeeds;
  #last: Promise<unknown> = Promise.resolve();
  #running = 0;
  #failure: { readonly since: string; readonly reason: string } | undefined;
  readonly #stopping = new AbortController();

  constructor(needs: SessionRemovalNeeds) {
    this.#needs = needs;
  }

  descendants(of: { readonly workspace: string; readonly session: string }) {
    return this.#needs.graph.descendants(of);
  }

  quiet(which: Parameters<GraphRemoval['quiet']>[0]): ReturnType<GraphRemoval['quiet']> {
    return this.#needs.graph.quiet(which);
  }

  async survey(of: { readonly workspace: string; readonly session: string }) {
    const { objects, ...counts } = await this.#needs.graph.survey(of);
    return { ...counts, objects: objects.length };
  }

  remove(sessions: readonly RemovedSession[]): Promise<RemovedCounts> {
    return this.#alone(async () => {
      this.#needs.assertQuiet();
      await this.#shutAll(sessions.map(({ key }) => key));
      let row: Omit<RemovalRow, 'beganAt'>;
      try {
        row = await this.#planned(sessions);
        this.#needs.rows.begin(row);
      } catch (error) {
        for (const { key } of sessions) this.#needs.queue.reopen(key);
        throw error;
      }
      await failpoint('removal:intended');
      try {
        return await this.#carryOut(row);
      } catch (error) {
        this.#fail(error);
        throw error;
      }
    });
  }

  resume(): void {
    for (const { sessions } of this.#needs.rows.list())
      for (const { key } of sessionsIn(sessions)) this.#needs.queue.keepShut(key);
  }

  async finish(): Promise<void> {
    try {
      await this.#alone(async () => {
        for (const row of this.#needs.rows.list()) await this.#carryOut(row);
      });
      this.#failure = undefined;
    } catch (error) {
      this.#fail(error);
    }
  }

  pending(): ReturnType<SessionRemoval['pending']> {
    if (this.#failure === undefined) return undefined;
    return { count: this.#needs.rows.list().length, ...this.#failure };
  }

  get isBusy(): boolean {
    return this.#running > 0;
  }

  async settled(): Promise<void> {
    await this.#last.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(draining({ what: 'the daemon' }));
    await this.settled();
  }

  async #planned(sessions: readonly RemovedSession[]): Promise<Omit<RemovalRow, 'beganAt'>> {
    const { graph, chance } = this.#needs;
    const objects = new Set<string>();
    for (const { workspace, session } of sessions)
      for (const sha256 of (await graph.survey({ workspace, session })).objects)
        objects.add(sha256);
    return {
      id: chance.uuid(),
      sessions: JSON.stringify(sessions),
      objects: JSON.stringify([...objects]),
    };
  }

  async #shutAll(keys: readonly Key[]): Promise<void> {
    const { queue } = this.#needs;
    const shut: Key[] = [];
    try {
      for (const key of keys) {
        await queue.shut(key);
        shut.push(key);
      }
    } catch (error) {
      for (const key of shut) queue.reopen(key);
      throw error;
    }
  }

  async #carryOut(row: Omit<RemovalRow, 'beganAt'>): Promise<RemovedCounts> {
    const { graph, queue, permit, rows, drain } = this.#needs;
    const sessions = sessionsIn(row.sessions);
    this.#needs.assertQuiet();
    const { nodes, edges } = await graph.remove(permit, sessions);
    await failpoint('removal:graph-gone');
    await queue.remove(sessions.map(({ key }) => key));
    await failpoint('removal:queue-gone');
    const objects = await this.#removeObjects(JSON.parse(row.objects) as readonly string[]);
    await failpoint('removal:objects-gone');
    rows.end(row.id);
    for (const { key } of sessions) {
      queue.reopen(key);
      // A start in the midst of it found the one store without the other, and stopped the key.
      if (drain.worker(key)?.state === 'mismatched') drain.resume(key);
    }
    return { nodes, edges, objects };
  }

  /**
   * Objects that no node names. A record that comes to name one meanwhile has put it before: no group is on its way when the look begins, what is
   * put from then on stays, and what goes does so while no group is on its way.
   */
  async #removeObjects(candidates: readonly string[]): Promise<number> {
    if (candidates.length === 0) return 0;
    const { graph, objects } = this.#needs;
    const watch = await this.#paused(() => Promise.resolve(objects.watchPuts()));
    try {
      const gone = await graph.unreferenced(candidates);
      return await this.#paused(async () => {
        const free = gone.filter((sha256) => !watch.put.has(sha256));
        for (const sha256 of free) await objects.remove(sha256);
        return free.length;
      });
    } finally {
      watch.end();
    }
  }

  #paused<T>(act: () => Promise<T>): Promise<T> {
    return whilePaused(this.#needs, this.#stopping.signal, act);
  }

  /** What is begun is carried to its end: tried again until it is done, or by the next start. */
  #fail(error: unknown): void {
    const { clock } = this.#needs;
    const isNew = this.#failure === undefined;
    const since = this.#failure?.since ?? new Date(clock.now()).toISOString();
    this.#failure = { since, reason: messageOf(error) };
    const code = isMillraceError(error) ? error.code : 'REMOVAL_CUT_OFF';
    const message = `a deletion of sessions is not done yet (${messageOf(error)}); it is tried again`;
    if (isNew) daemonNoticed.publish(() => ({ code, message }));
    const isOver = isMillraceError(error) && error.disposition === 'fenced';
    if (!isOver && !this.#stopping.signal.aborted) clock.after(retryMs, () => void this.finish());
  }

  #alone<T>(act: () => Promise<T>): Promise<T> {
    this.#running += 1;
    const run = this.#last
      .catch(() => undefined)
      .then(act)
      .finally(() => {
        this.#running -= 1;
      });
    this.#last = run;
    return run;
  }
}

/** What a row of a deletion says. */
export function sessionsIn(text: string): readonly RemovedSession[] {
  return JSON.parse(text) as readonly RemovedSession[];
}
