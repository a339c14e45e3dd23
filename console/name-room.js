/** Which names of a picture have room: those that would cover another or a node are left out, the less telling ones first. */

/**
 * @typedef {{ x1: number, y1: number, x2: number, y2: number }} Box
 * @typedef {{ key: string, rank: number, name: Box, node: Box }} Named
 */

/**
 * @param {readonly Named[]} all `rank`: who goes first, the lowest
 * @returns {Set<string>} keys of those whose names have room
 */
export function namesWithRoom(all) {
  /** @type {Box[]} */
  const taken = [];
  /** @type {Set<string>} */
  const keys = new Set();
  for (const one of all.toSorted((a, b) => a.rank - b.rank)) {
    const isFree =
      !taken.some((box) => cover(box, one.name)) &&
      !all.some((other) => other !== one && cover(other.node, one.name));
    if (!isFree) continue;
    taken.push(one.name);
    keys.add(one.key);
  }
  return keys;
}

/**
 * @param {Box} a
 * @param {Box} b
 */
function cover(a, b) {
  return a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2;
}
