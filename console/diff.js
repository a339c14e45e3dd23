/** Lines of two texts side by side in one list. */

/** Beyond so many lines the middle is told as replaced, so that a page never hangs. */
const linesMax = 2000;

/**
 * @typedef {{ kind: 'same' | 'gone' | 'new', text: string }} DiffLine
 *
 * @param {string} before
 * @param {string} after
 * @returns {DiffLine[]}
 */
export function diffLines(before, after) {
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < fresh.length - head &&
    old.at(-1 - tail) === fresh.at(-1 - tail)
  )
    tail += 1;
  const middle = between(
    old.slice(head, old.length - tail),
    fresh.slice(head, fresh.length - tail),
  );
  return [
    ...lines('same', old.slice(0, head)),
    ...middle,
    ...lines('same', tail === 0 ? [] : old.slice(-tail)),
  ];
}

/**
 * @param {DiffLine['kind']} kind
 * @param {readonly string[]} texts
 * @returns {DiffLine[]}
 */
function lines(kind, texts) {
  return texts.map((text) => ({ kind, text }));
}

/** The longest common subsequence, by its table of lengths.
 * @param {readonly string[]} old
 * @param {readonly string[]} fresh
 * @returns {DiffLine[]}
 */
function between(old, fresh) {
  if (old.length > linesMax || fresh.length > linesMax)
    return [...lines('gone', old), ...lines('new', fresh)];
  const width = fresh.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  const at = (/** @type {number} */ row, /** @type {number} */ column) =>
    lengths[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1)
    for (let column = fresh.length - 1; column >= 0; column -= 1)
      lengths[row * width + column] =
        old[row] === fresh[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  /** @type {DiffLine[]} */
  const found = [];
  let [row, column] = [0, 0];
  while (row < old.length || column < fresh.length) {
    if (row < old.length && column < fresh.length && old[row] === fresh[column]) {
      found.push({ kind: 'same', text: old[row] ?? '' });
      row += 1;
      column += 1;
    } else if (
      column >= fresh.length ||
      (row < old.length && at(row + 1, column) >= at(row, column + 1))
    ) {
      found.push({ kind: 'gone', text: old[row] ?? '' });
      row += 1;
    } else {
      found.push({ kind: 'new', text: fresh[column] ?? '' });
      column += 1;
    }
  }
  return found;
}
