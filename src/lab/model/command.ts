import type { Chance } from '#base';
import { labUnready } from '../errors.ts';

/** Everything that may happen to a queue, and how often a plan draws it. */
export const weights = {
  append: 8,
  resend: 2,
  read: 4,
  apply: 4,
  commit: 5,
  drain: 3,
  bury: 3,
  requeue: 2,
  discard: 1,
  reconcile: 1,
  checkpoint: 2,
  compact: 2,
  finalise: 2,
  tick: 3,
  restart: 1,
  crash: 2,
  trouble: 2,
} as const;

export type CommandKind = keyof typeof weights;
export const commandKinds: readonly CommandKind[] = Object.keys(weights) as CommandKind[];

/** Kinds that may run beside any other: what clients and operators do, and the queue by itself. */
export const loose: readonly CommandKind[] = [
  'append',
  'resend',
  'requeue',
  'discard',
  'reconcile',
  'checkpoint',
  'compact',
  'finalise',
  'tick',
];

/**
 * One command as plain numbers: what they mean is decided when it runs, so that every list of commands can be run, a shortened one too.
 * `beside` is a command that begins in the same step; of a crash, the one that it interrupts.
 */
export interface Command {
  readonly kind: CommandKind;
  /** Chooses the session. */
  readonly a: number;
  /** Chooses how many. */
  readonly b: number;
  /** Chooses which, or how. */
  readonly c: number;
  readonly beside?: Omit<Command, 'beside'>;
}

export const choiceMax = 9999;

const drawn: readonly CommandKind[] = commandKinds.flatMap((kind) =>
  Array.from({ length: weights[kind] }, () => kind),
);

/** The kinds as often as a plan draws them. */
export function drawnKinds(): readonly CommandKind[] {
  return drawn;
}

/** Commands by chance; the same chance gives the same ones. */
export function planCommands(chance: Chance, count: number): readonly Command[] {
  return Array.from({ length: count }, () => {
    const kind = pick(chance, drawn);
    const simple = { kind, ...choices(chance) };
    if (kind === 'crash')
      return { ...simple, beside: { kind: pick(chance, drawn), ...choices(chance) } };
    return chance.float() < 0.15
      ? { ...simple, beside: { kind: pick(chance, loose), ...choices(chance) } }
      : simple;
  });
}

function choices(chance: Chance): { a: number; b: number; c: number } {
  const next = (): number => Math.floor(chance.float() * (choiceMax + 1));
  return { a: next(), b: next(), c: next() };
}

function pick<T>(chance: Chance, from: readonly T[]): T {
  const found = from[Math.floor(chance.float() * from.length)];
  if (found === undefined) throw new RangeError('there is nothing to choose from');
  return found;
}

/** A list of commands in one line: what is printed on failure and can be run again. */
export function describeCommand({ kind, a, b, c, beside }: Command): string {
  const own = `${kind}(${a},${b},${c})`;
  return beside === undefined ? own : `${own}+${describeCommand(beside)}`;
}

const commandPattern = /^([a-z-]+)\((\d+),(\d+),(\d+)\)(?:\+(.+))?$/;

/** What `describeCommand` wrote, parted by spaces. LAB_UNREADY for anything else. */
export function parseCommands(text: string): readonly Command[] {
  return text
    .split(' ')
    .filter((word) => word !== '')
    .map(parseCommand);
}

function parseCommand(word: string): Command {
  const [, kind, a, b, c, beside] = commandPattern.exec(word) ?? [];
  if (!isKind(kind)) throw labUnready({ reason: `"${word}" is no command` });
  const simple = { kind, a: Number(a), b: Number(b), c: Number(c) };
  return beside === undefined ? simple : { ...simple, beside: parseCommand(beside) };
}

function isKind(kind: string | undefined): kind is CommandKind {
  return kind !== undefined && Object.hasOwn(weights, kind);
}
