import { createHash } from 'node:crypto';
import { IF_EXISTS } from 'lmdb';
import type { FencePermit } from '#fence';
import { stateCorrupt } from './errors.ts';
import { afterPermit, decodeMark, encodeMark } from './guard-mark.ts';
import { seal, unseal } from './seal.ts';
import { markKey, type Binary } from './tables.ts';

/** Entries of the checkpoint's table that begin so: at most one, of the holder whose mark stands. */
const armedPrefix = Buffer.from('armed\0', 'latin1');
const endOfArmed = Buffer.from('armed\x01', 'latin1');
const armedValue = Buffer.from('{"v":1}', 'latin1');

/** What the store holds exactly as long as the mark is that of one permit. */
interface Armed {
  /** The mark as it is stored. */
  readonly mark: Buffer;
  /** Its first eight bytes, which the package compares as a number: format of the seal, checksum, and the beginning of the value. */
  readonly version: number;
  /** Of an entry that is named by domain, generation and holder as a whole: a checksum may be the same of two marks. */
  readonly key: Buffer;
}

/**
 * The fence of one environment (FEN-401). Both ways hold its check and the writes in one transaction (FEN-406): `raise` within a child transaction, and
 * `whileArmed` in LMDB's own writer thread.
 */
export class StateGuard {
  readonly #env: Binary;
  readonly #armed: Binary;
  readonly #place: string;
  readonly #byPermit = new WeakMap<FencePermit, Armed>();

  constructor(env: Binary, checkpoint: Binary, place: string) {
    this.#env = env;
    this.#armed = checkpoint;
    this.#place = place;
  }

  /** Stands before the first put of a child transaction: refuses as `afterPermit` does, or leaves the store armed for this permit. */
  raise(permit: FencePermit): void {
    const stored = this.#env.get(markKey);
    const raised = afterPermit(this.#markOf(stored), permit, this.#place);
    const armed = this.#armedOf(permit);
    if (raised !== undefined || stored?.equals(armed.mark) !== true)
      this.#env.putSync(markKey, armed.mark);
    if (raised === undefined && this.#armed.get(armed.key) !== undefined) return;
    const others = Array.from(this.#armed.getKeys({ start: armedPrefix, end: endOfArmed }));
    for (const key of others) this.#armed.removeSync(key);
    this.#armed.putSync(armed.key, seal(armed.key, armedValue));
  }

  /**
   * Hands the puts of `step` to the writer thread, which takes all of them or none, in one transaction with the question whether the mark is still that of this
   * permit. False where it is not, and where the permit has ended: nothing is written then, and `raise` says why. `step` MUST NOT throw.
   */
  async whileArmed(permit: FencePermit, step: () => void): Promise<boolean> {
    if (!permit.isLive) return false;
    const { version, key } = this.#armedOf(permit);
    let inner: Promise<boolean> | undefined;
    const outer = this.#env.ifVersion(markKey, version, () => {
      inner = this.#armed.ifVersion(key, IF_EXISTS, step);
    });
    // The inner one fails with the outer; of a commit that fails both tell.
    const answers = await Promise.all([outer, inner]);
    return answers.every((answer) => answer === true);
  }

  #markOf(stored: Buffer | undefined): ReturnType<typeof decodeMark> | undefined {
    if (stored === undefined) return undefined;
    const unsealed = unseal(markKey, stored);
    if ('value' in unsealed) return decodeMark(unsealed.value, this.#place);
    throw stateCorrupt({ thing: 'an entry of guard mark', reason: unsealed.fault });
  }

  #armedOf(permit: FencePermit): Armed {
    const known = this.#byPermit.get(permit);
    if (known !== undefined) return known;
    const { domain, generation, holder } = permit;
    const bare = encodeMark({ domain, generation, holder });
    const mark = seal(markKey, bare);
    const key = Buffer.concat([armedPrefix, createHash('sha256').update(bare).digest()]);
    const armed = { mark, version: mark.readDoubleLE(0), key };
    this.#byPermit.set(permit, armed);
    return armed;
  }
}
