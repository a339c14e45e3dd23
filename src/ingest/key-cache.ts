import { encodeKey, type Key, type KeyEncoding } from '#record';

/** Sessions whose keys are kept; then all are forgotten and learnt again. */
const keysMax = 16_384;

/** Keys of sessions that write now: encoding one costs a microsecond, as much as reading its event's timestamp. */
export class KeyCache {
  readonly #encoding: KeyEncoding;
  readonly #byWorkspace = new Map<string, Map<string, Key>>();
  #count = 0;

  constructor(encoding: KeyEncoding) {
    this.#encoding = encoding;
  }

  keyOf(workspace: string, session: string): Key {
    let keys = this.#byWorkspace.get(workspace);
    const known = keys?.get(session);
    if (known !== undefined) return known;
    if (this.#count >= keysMax) {
      this.#byWorkspace.clear();
      this.#count = 0;
      keys = undefined;
    }
    if (keys === undefined) {
      keys = new Map();
      this.#byWorkspace.set(workspace, keys);
    }
    const key = encodeKey(workspace, session, this.#encoding);
    keys.set(session, key);
    this.#count += 1;
    return key;
  }
}
