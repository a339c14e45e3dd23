/** A broken assertion is a bug of the program: it exits with code 70 (D20). */
export class AssertionFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AssertionFailed';
  }
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(message);
}

/** Ends an exhaustive switch: a new member does not compile until it is answered. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`unreachable value: ${JSON.stringify(value)}`);
}
