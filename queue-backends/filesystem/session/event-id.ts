const idPattern =
  /^\{"v":1,(?:"sid":"(?:[^"\\]|\\.)*",)?"id":("(?:[^"\\]|\\.)*")(,"derived":true)?/;

/** The event id of a stored line; ids and session ids are at most 512 bytes, escaped six times that. */
export function idOf(
  raw: Uint8Array,
): { readonly id: string; readonly isDerived: boolean } | undefined {
  const head = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.length, 8192));
  const match = idPattern.exec(head.toString('utf8'));
  if (match?.[1] === undefined) return undefined;
  return { id: JSON.parse(match[1]) as string, isDerived: match[2] !== undefined };
}
