import { labRootId } from '#fence';
import { openMemoryGraph, emptyMemoryGraph } from '#graph/memory';
import { demandEqual } from '../demand.ts';
import type { AppendInput } from '#queue';
import { labKey, labWorkspace } from '../records.ts';
import {
  append,
  apply,
  bury,
  checkpoint,
  commit,
  compact,
  finalise,
  isRetry,
  newInputs,
  reconcile,
  settleLetter,
  tick,
  unseen,
  type Act,
} from './acts.ts';
import type { Command } from './command.ts';
import { inputOf } from './events.ts';
import { compare, compareBooks, compareCursor, Observed } from './observe.ts';
import { Reference } from './reference.ts';
import { SlowWorker } from './slow-worker.ts';
import { endings, World, type Spoil } from './world.ts';

/** Sessions of a run: few, so that commands meet. */
const sessions = ['a', 'b', 'c'] as const;
/** Turns of a crash's command before the crash: none, or enough to be anywhere in a group write. */
const turnsMax = 30;
const diskTroubles = ['EIO', 'ENOSPC', 'EDQUOT', 'EROFS', 'EMFILE'] as const;

export interface ModelRun {
  readonly commands: number;
  readonly records: number;
  readonly crashes: number;
}

/** Runs commands against a queue and against the model, and compares; rejects with PROMISE_BROKEN at the first difference (ING-P01). */
export async function runModel(
  commands: readonly Command[],
  seed = 1,
  spoil: Spoil = (queue) => queue,
): Promise<ModelRun> {
  const run = new Run(seed, spoil);
  await run.begin();
  for (const command of commands) await run.step(command);
  return run.finish(commands.length);
}

class Run {
  readonly #world: World;
  readonly #reference = new Reference();
  readonly #workers = new Map(sessions.map((session) => [session, new SlowWorker(session)]));
  /** Acts that were refused, and that a crash may yet show to have taken place (C35). */
  #open: Act[] = [];
  /** Requests that were refused: a client sends them again. */
  #refused: (readonly AppendInput[])[] = [];
  #numbers = 0;
  #crashes = 0;

  constructor(seed: number, spoil: Spoil) {
    this.#world = new World(seed, spoil);
  }

  begin(): Promise<void> {
    return this.#world.open();
  }

  async step(command: Command): Promise<void> {
    const { beside, ...own } = command;
    if (own.kind === 'restart') return this.#reopened(() => this.#world.restart());
    if (own.kind === 'crash') return this.#crash(command);
    if (own.kind === 'trouble') return this.#trouble(command);
    const acts = [this.#act(own, beside === undefined)];
    if (beside !== undefined) acts.push(this.#act(beside, false));
    await Promise.all(acts.map((act) => this.#perform(act)));
    const { queue } = this.#world.life;
    compareBooks(queue, this.#reference);
    if (own.b % 3 === 0)
      await compareCursor(queue, this.#reference, sessions[own.a % sessions.length] ?? 'a');
  }

  /** Drains to the end, and compares queue and graph with the model for the last time. */
  async finish(commandCount: number): Promise<ModelRun> {
    await this.#reopened(() => this.#world.restart());
    for (const session of sessions) await this.#drain(session);
    await compare(this.#world.life.queue, this.#reference);
    demandEqual(this.#reference.totals()['pending'], 0, 'all is drained in the end');
    await this.#compareGraph();
    await this.#world.close();
    const records = this.#reference.totals()['accepted'] ?? 0;
    return { commands: commandCount, records, crashes: this.#crashes };
  }

  /** What comes back after the life was cut is heard by nobody. */
  async #perform(act: Act, isHeard: () => boolean = () => true): Promise<void> {
    try {
      const effect = await act.go(this.#world.life);
      if (!isHeard()) return;
      effect?.();
      // No frame is acknowledged before a failed range is settled (QFS-03): what was refused until now is gone for good.
      if (effect !== undefined) this.#open = [];
    } catch (error) {
      if (!isHeard()) return;
      if (!isRetry(error)) throw error;
      this.#open.push(act);
      if (act.inputs !== undefined) this.#refused.push(act.inputs);
    }
  }

  async #crash({ b, c, beside }: Command): Promise<void> {
    this.#crashes += 1;
    const ending = endings[c % endings.length] ?? 'killed';
    if (beside !== undefined && !/crash|restart|trouble|drain/.test(beside.kind)) {
      const act = this.#act(beside, false);
      const fate = { isOver: false, isCut: false };
      const going = this.#perform(act, () => !fate.isCut).finally(() => (fate.isOver = true));
      going.catch(() => undefined);
      for (let turn = b % turnsMax; turn > 0 && !fate.isOver; turn -= 1) await Promise.resolve();
      if (fate.isOver) await going;
      else this.#open.push(act);
      fate.isCut = true;
    }
    await this.#reopened(() => this.#world.crash(ending));
  }

  /** A new life: what was open is settled by what is found, and everything is compared. */
  async #reopened(reopen: () => Promise<void>): Promise<void> {
    await reopen();
    for (const worker of this.#workers.values()) worker.drop();
    const { queue } = this.#world.life;
    for (const act of this.#open) {
      const observed = await Observed.of(queue, this.#reference, sessions);
      act.found(observed)?.();
    }
    this.#open = [];
    await compare(queue, this.#reference);
  }

  /** One of the next calls of the disk fails. */
  #trouble({ a, b, c }: Command): Promise<void> {
    const code = diskTroubles[a % diskTroubles.length] ?? 'EIO';
    const path = c % 2 === 0 ? /\.wal$/ : /sessions/;
    this.#world.life.disk.plan([{ code, path, nth: 1 + (b % 12), times: 1 + (c % 3) }]);
    return Promise.resolve();
  }

  #act(command: Omit<Command, 'beside'>, isAlone: boolean): Act {
    const { kind, a, b, c } = command;
    const session = sessions[a % sessions.length] ?? 'a';
    const worker = this.#worker(session);
    switch (kind) {
      case 'append':
        return this.#append(a, b, c, isAlone);
      case 'resend':
        return this.#resend(session, b, isAlone);
      case 'read':
        return act(async (life) => {
          await worker.read(life, 1 + (b % 5));
        });
      case 'apply':
        return this.#apply(a, c);
      case 'commit':
        return commit(this.#reference, worker);
      case 'drain':
        return act(() => this.#drain(session));
      case 'bury':
        return bury(this.#reference, worker);
      case 'requeue':
      case 'discard': {
        const dead = this.#reference.all(session, 'dead');
        const letter = dead[b % Math.max(1, dead.length)];
        return letter === undefined ? idle : settleLetter(this.#reference, letter, kind);
      }
      case 'reconcile':
        return reconcile(session);
      case 'checkpoint':
        return checkpoint;
      case 'compact':
        return compact(session);
      case 'finalise':
        return finalise(session);
      case 'tick':
        return tick(50 + (b % 300));
      default:
        return idle;
    }
  }

  #append(a: number, b: number, c: number, isAlone: boolean): Act {
    const spread = 1 + (c % 3);
    const sessionOf = (at: number): string =>
      sessions[(a + (at % spread)) % sessions.length] ?? 'a';
    const inputs = newInputs(1 + (b % 4), sessionOf, () => (this.#numbers += 1), c);
    return append(this.#reference, inputs, isAlone);
  }

  #resend(session: string, b: number, isAlone: boolean): Act {
    const again = this.#refused.pop();
    if (again !== undefined) return append(this.#reference, again, isAlone);
    const withIds = this.#reference.log(session).filter(({ eventId }) => eventId !== undefined);
    const known = withIds[b % Math.max(1, withIds.length)];
    if (known === undefined) return idle;
    const input = { ...inputOf({ n: known.n, session, choice: 1 }), raw: known.raw };
    const { eventId } = known;
    return append(
      this.#reference,
      [eventId === undefined ? input : { ...input, eventId }],
      isAlone,
    );
  }

  #apply(a: number, c: number): Act {
    const chosen = sessions.filter((_, at) => ((1 + (a % 7)) >> at) % 2 === 1);
    const trouble = c % 5 === 0 ? 'away' : c % 5 === 1 ? 'answer-lost' : 'none';
    return apply(
      chosen.map((session) => this.#worker(session)),
      trouble,
    );
  }

  /** All the way: what can be applied is, what cannot is buried. */
  async #drain(session: string): Promise<void> {
    const worker = this.#worker(session);
    const { life } = this.#world;
    for (;;) {
      const before = this.#reference.all(session, 'pending').length;
      if (before === 0) return;
      await worker.read(life, 4);
      await this.#perform(apply([worker], 'none'));
      await this.#perform(apply([worker], 'none'));
      await this.#perform(commit(this.#reference, worker));
      worker.drop();
      if (this.#reference.all(session, 'pending').length === before)
        await this.#perform(bury(this.#reference, worker));
      if (this.#reference.all(session, 'pending').length === before) return;
    }
  }

  #worker(session: string): SlowWorker {
    const worker = this.#workers.get(session as (typeof sessions)[number]);
    if (worker === undefined) throw new TypeError(`${session} is a session of the run`);
    return worker;
  }

  async #compareGraph(): Promise<void> {
    const { graph } = this.#world.life;
    const expected = openMemoryGraph({ rootId: labRootId, content: emptyMemoryGraph() });
    const group = sessions.map((session) => ({
      key: labKey(session),
      workspace: labWorkspace,
      session,
      steps: this.#reference.steps(session),
    }));
    await expected.apply(
      this.#world.life.permit,
      group.filter(({ steps }) => steps.length > 0),
    );
    demandEqual(await graph.digest(), await expected.digest(), 'the graph is that of the model');
  }
}

/** Nothing to do: there is no such record or letter. */
const idle: Act = { found: unseen, go: () => Promise.resolve(undefined) };

/** Changes nothing that a crash could leave open by itself. */
function act(go: (life: World['life']) => Promise<void>): Act {
  return {
    found: unseen,
    async go(life) {
      await go(life);
      return undefined;
    },
  };
}
