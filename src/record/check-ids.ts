/** Longest session id, workspace and event id, in UTF-8 bytes (ING-111). */
export const idBytesMax = 512;
/** Longest event name, in UTF-8 bytes: it stands in node ids and labels. */
export const eventNameBytesMax = 512;
const plainCharactersMax: number = Math.min(idBytesMax, eventNameBytesMax);

/** Says of what nearly all ids, workspaces and names of events are that it passes every check of theirs: visible ASCII with spaces in it, not too long. */
export function isPlainId(text: string): boolean {
  if (text.length > plainCharactersMax || !(text.charCodeAt(0) > 0x20)) return false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}

/** Why a client's session id cannot be used; undefined when it can (ING-111). */
export function checkSessionId(session: string): string | undefined {
  if (isPlainId(session)) return undefined;
  return fault('the session id', session) ?? controlFault('the session id', session);
}

/** Why a workspace cannot be used; undefined when it can (ING-111). One of spaces only is as good as none. */
export function checkWorkspace(workspace: string): string | undefined {
  if (isPlainId(workspace)) return undefined;
  if (workspace.trim() === '')
    return 'the workspace is empty; name the project that the events belong to';
  return fault('the workspace', workspace) ?? controlFault('the workspace', workspace);
}

/** Why an event id cannot be used; undefined when it can (ING-111). */
export function checkEventId(eventId: string): string | undefined {
  return isPlainId(eventId) ? undefined : fault('the event id', eventId);
}

function fault(what: string, text: string): string | undefined {
  if (text === '') return `${what} is empty`;
  if (!text.isWellFormed()) return `${what} has a lone surrogate; send well-formed Unicode`;
  const bytes = Buffer.byteLength(text);
  return bytes > idBytesMax
    ? `${what} has ${bytes} bytes; the longest has ${idBytesMax}`
    : undefined;
}

function controlFault(what: string, text: string): string | undefined {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20)
      return `${what} has the control character U+${code.toString(16).padStart(4, '0')}`;
  }
  return undefined;
}

/** The session id of an event that names none (ING-944). */
export function sessionOfNone(workspace: string): string {
  const slug = workspace
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return `_no_session__${slug === '' ? 'default' : slug}`;
}
