import { messageOf } from '#base';
import { graphDamaged } from './errors.ts';

/** JSON that this store has written; anything else in its place is damage, and no fault of whoever asks. */
export function storedJson<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw graphDamaged({ reason: `a stored value is no JSON: ${messageOf(error)}` }, error);
  }
}
