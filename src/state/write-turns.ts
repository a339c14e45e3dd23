/** Of one kind as many as like are under way together; another kind waits for them, and those that come behind it wait for it. */
interface Group<Kind> {
  readonly kind: Kind;
  /** When those before it have ended; undefined where there was nobody. */
  readonly before: Promise<void> | undefined;
  readonly members: Set<Promise<unknown>>;
}

/** Keeps steps of different kinds apart, in the order in which they came. One that nobody is before begins at once, in the turn of the call. */
export class WriteTurns<Kind> {
  #last: Group<Kind> | undefined;

  run<T>(kind: Kind, step: () => Promise<T>): Promise<T> {
    const group = this.#groupFor(kind);
    const done = group.before === undefined ? step() : group.before.then(step);
    group.members.add(done);
    const leave = (): void => {
      group.members.delete(done);
      if (group.members.size === 0 && this.#last === group) this.#last = undefined;
    };
    done.then(leave, leave);
    return done;
  }

  #groupFor(kind: Kind): Group<Kind> {
    if (this.#last?.kind === kind) return this.#last;
    const before = this.#last === undefined ? undefined : settled(this.#last);
    this.#last = { kind, before, members: new Set() };
    return this.#last;
  }
}

async function settled(group: Group<unknown>): Promise<void> {
  await Promise.allSettled(group.members);
}
