/** What a token may be good for (ING-016). */
export const scopes = [
  'ingest:write',
  'ingest:read',
  'ops:read',
  'ops:write',
  'stage:write',
  'stage:recover',
  'artifact:write',
  'artifact:read',
  'fence:hold',
  'internal',
] as const;

export type Scope = (typeof scopes)[number];

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text);
}
