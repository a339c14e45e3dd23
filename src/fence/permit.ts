/**
 * Shows that its holder may write the things of one domain, up to its generation (FEN-404). Guarded calls take one as a required argument;
 * only this room makes them.
 */
export class FencePermit {
  readonly domain: string;
  readonly generation: number;
  readonly holder: string;
  readonly #isLive: () => boolean;
  readonly #isCurrent: () => boolean;

  private constructor(
    domain: string,
    generation: number,
    holder: string,
    isLive: () => boolean,
    isCurrent: () => boolean,
  ) {
    this.domain = domain;
    this.generation = generation;
    this.holder = holder;
    this.#isLive = isLive;
    this.#isCurrent = isCurrent;
  }

  /** False once the tenure was given up or found lost: no write may begin (ING-236). */
  get isLive(): boolean {
    return this.#isLive();
  }

  /**
   * Asks the lease row itself, which costs 10 µs: between a group's sync and its answer. Whoever takes over has raised the row before he reads what
   * is there, so what was durable before this said yes is read by him, and what it refuses was told to nobody (P1, P6, ING-T45).
   */
  isCurrent(): boolean {
    return this.#isLive() && this.#isCurrent();
  }

  /** @internal room fence only (a tidy test holds it). */
  static issue(
    domain: string,
    generation: number,
    holder: string,
    isLive: () => boolean,
    isCurrent: () => boolean = isLive,
  ): FencePermit {
    return new FencePermit(domain, generation, holder, isLive, isCurrent);
  }
}
