/**
 * Shows that its holder may write the things of one domain, up to its generation (FEN-404). Guarded calls take one as a required argument;
 * only this room makes them.
 */
export class FencePermit {
  readonly domain: string;
  readonly generation: number;
  readonly holder: string;
  readonly #isLive: () => boolean;

  private constructor(domain: string, generation: number, holder: string, isLive: () => boolean) {
    this.domain = domain;
    this.generation = generation;
    this.holder = holder;
    this.#isLive = isLive;
  }

  /** False once the tenure was given up or found lost: no write may begin (ING-236). */
  get isLive(): boolean {
    return this.#isLive();
  }

  /** @internal room fence only (a tidy test holds it). */
  static issue(
    domain: string,
    generation: number,
    holder: string,
    isLive: () => boolean,
  ): FencePermit {
    return new FencePermit(domain, generation, holder, isLive);
  }
}
