import { isJsonObject, sha256Hex, type JsonObject, type JsonValue } from '#base';

/** An event as a format makes it of what its client wrote; ids are derived (D21). */
export interface EventDraft {
  readonly event: string;
  readonly workspace: string;
  /** Undefined where the client named none. */
  readonly session: string | undefined;
  /** ISO 8601. */
  readonly time: string;
  /** Undefined for what must never be taken for a duplicate. */
  readonly id?: string | undefined;
  readonly data: JsonObject;
  readonly workingDir?: string | undefined;
}

/**
 * One line of NDJSON for `POST /v1/events`; session and time stand where every client of the event model has them. The id is derived, unless it
 * is the sender's own.
 */
export function bodyOfDraft(
  draft: EventDraft,
  options: { readonly isOwnId?: boolean } = {},
): string {
  const { event, workspace, session, time, id, workingDir } = draft;
  const data: JsonObject = {
    ...defined(draft.data),
    ...(session === undefined ? {} : { session_id: session }),
    timestamp: time,
  };
  return JSON.stringify({
    event,
    workspace,
    ...(id === undefined ? {} : { event_id: id }),
    ...(id === undefined || options.isOwnId === true ? {} : { derived_id: true }),
    ...(workingDir === undefined ? {} : { working_dir: workingDir }),
    data,
  });
}

/** Longest id of a client that stands in an event id as it is. */
const idLengthMax = 128;

/** A client's id as part of an event id: bounded, and of one piece. */
export function idPart(text: string): string {
  return text.length <= idLengthMax && text.isWellFormed() ? text : sha256Hex(Buffer.from(text));
}

/** First hex digits of the SHA-256 of a line: enough to tell lines of one place apart. */
export function shortHash(text: string | Uint8Array): string {
  return sha256Hex(typeof text === 'string' ? Buffer.from(text) : text).slice(0, 24);
}

/** Longest event name made of a client's words. */
const nameLengthMax = 100;

/** Words of a client as the second half of an event name: lower case, parted by `_`. */
export function slugOf(...words: readonly (string | undefined)[]): string {
  const slug = words
    .filter((word) => word !== undefined)
    .map((word) => word.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replace(/[^A-Za-z0-9]+/g, '_'))
    .join('_')
    .toLowerCase()
    .replace(/^_+|_+$/g, '')
    .slice(0, nameLengthMax);
  return slug === '' ? 'unnamed' : slug;
}

/** A text that says something. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

export function objectOf(value: JsonValue | undefined): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** The members that are not undefined: a draft may name what its client left out. */
export function defined(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(
      (member): member is [string, JsonValue] => member[1] !== undefined,
    ),
  );
}

/** All members but those. */
export function without(object: JsonObject, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

/** What is remembered under a client's key: `constructor` and `__proto__` are keys like any other. */
export function recall<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** Keeps a map of a translator's state bounded: the oldest entry goes first. */
export function remember<T>(map: Record<string, T>, key: string, value: T, most: number): void {
  delete map[key];
  Object.defineProperty(map, key, { value, enumerable: true, writable: true, configurable: true });
  for (const oldest of Object.keys(map)) {
    if (Object.keys(map).length <= most) return;
    delete map[oldest];
  }
}

/** The folder name that agents make of a working directory; the workspace of sessions that name none (B81). */
export function projectSlug(workingDir: string | undefined): string | undefined {
  const slug = workingDir?.replace(/[^A-Za-z0-9]/g, '-').slice(0, 200);
  return slug === undefined || slug === '' || /^-+$/.test(slug) ? undefined : slug;
}

/** `…/projects/SLUG/…`, as Claude Code and Amplifier lay their files. */
export function projectOfPath(path: string | undefined): string | undefined {
  const match = path === undefined ? null : /[/\\]projects[/\\]([^/\\]+)[/\\]/.exec(path);
  return match?.[1];
}
