/** One rule of `ingest.redact`. */
export type RedactRule =
  | { readonly kind: 'set'; readonly name: RedactSet }
  | { readonly kind: 'pattern'; readonly name: 'pattern'; readonly pattern: RegExp }
  /** Names of members from the event down; `*` is any one, `**` any number of them. */
  | { readonly kind: 'path'; readonly name: 'path'; readonly path: readonly string[] };

export const redactSets = ['keys', 'secrets'] as const;

export type RedactSet = (typeof redactSets)[number];

/** What ids and times of events need; no rule reaches them. */
const untouchable: ReadonlySet<string> = new Set(['data.timestamp', 'data.session_id']);

/** `keys`, `secrets`, `/pattern/flags` or `$.data.path.of.members`; a text says why it is no rule. */
export function parseRedactRule(text: string): RedactRule | string {
  const set = redactSets.find((name) => name === text);
  if (set !== undefined) return { kind: 'set', name: set };
  if (text.startsWith('$.')) return parsePath(text);
  if (text.startsWith('/')) return parsePattern(text);
  return `has ${JSON.stringify(text)}, which is neither ${redactSets.join(' nor ')}, nor a /pattern/, nor a $.data.path`;
}

export function parseRedactRules(texts: readonly string[]): readonly RedactRule[] {
  return texts.map(parseRedactRule).filter((rule) => typeof rule !== 'string');
}

function parsePattern(text: string): RedactRule | string {
  const [, source = '', flags = ''] = /^\/(.+)\/([imsu]*)$/s.exec(text) ?? [];
  if (source === '')
    return `has ${JSON.stringify(text)}, which is no pattern: write /…/, and a comma within as \\x2c`;
  try {
    const pattern = new RegExp(source, `g${flags}`);
    if (''.search(pattern) === 0) return `has ${JSON.stringify(text)}, which matches an empty text`;
    return { kind: 'pattern', name: 'pattern', pattern };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return `has ${JSON.stringify(text)}, which is no regular expression: ${error.message}`;
  }
}

function parsePath(text: string): RedactRule | string {
  const path = text.slice(2).split('.');
  if (path.some((name) => name === ''))
    return `has ${JSON.stringify(text)}, in which a name is missing`;
  if (untouchable.has(path.join('.')))
    return `has ${JSON.stringify(text)}: an event is nothing without its time and session`;
  return { kind: 'path', name: 'path', path };
}
