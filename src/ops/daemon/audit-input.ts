import { createHash } from 'node:crypto';

type Members = Readonly<Record<string, unknown>>;

/** Names, filters and reasons are shorter; what is longer is content. Characters of JSON. */
const textMax = 2000;

/** What the audit keeps of an input: hidden and long members are there as SHA-256 and size. Pure. */
export function auditInput(input: Members, hidden: readonly string[]): Members {
  const members = Object.entries(input).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    members.map(([name, value]) => {
      const text = JSON.stringify(value);
      const isKept = !hidden.includes(name) && text.length <= textMax;
      return [name, isKept ? value : digestOf(text)];
    }),
  );
}

function digestOf(text: string): Members {
  const bytes = Buffer.from(text);
  return { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
}
