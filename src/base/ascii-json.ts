const notAscii = /[^\x20-\x7e]/;

/** A JSON string in ASCII alone, as Python's `json.dumps` writes it: the form in which existing clients hash and store text. */
export function quoteAscii(text: string): string {
  const quoted = JSON.stringify(text);
  if (!notAscii.test(quoted)) return quoted;
  return quoted.replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
