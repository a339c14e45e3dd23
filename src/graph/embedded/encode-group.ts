import { joinedAlone } from '#base';
import { packSteps, type AnyPart } from '../packed-part.ts';

const comma = Buffer.from(',');
const brace = Buffer.from('}');
const open = Buffer.from('[');
const close = Buffer.from(']');

/** A group as the JSON of WirePart[] in UTF-8, in memory of its own that can be handed over. Packed steps go in as they are. */
export function encodeGroup(group: readonly AnyPart[]): Uint8Array<ArrayBuffer> {
  const pieces: Uint8Array[] = [];
  for (const part of group) {
    const { key, workspace, session } = part;
    pieces.push(
      pieces.length === 0 ? open : comma,
      Buffer.from(`${JSON.stringify({ key, workspace, session }).slice(0, -1)},"steps":`),
      'packed' in part ? part.packed : packSteps(part.steps),
      brace,
    );
  }
  pieces.push(pieces.length === 0 ? Buffer.from('[]') : close);
  return joinedAlone(pieces);
}
