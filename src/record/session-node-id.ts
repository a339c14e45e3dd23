/** Begin the ids of shared concepts (`agent::NAME`), so no session may begin the ids of its nodes like this. */
const conceptNames = /^(?:agent|orchestrator|recipe)$/;

/** `:%` is the mark of an escape in node ids; it and `::`, which parts an owner from what it owns, get one where a client's text has them. */
export function escapeColons(text: string): string {
  return text.replace(/:([:%])/g, (_, second: string) => (second === ':' ? ':%3A' : ':%25'));
}

/**
 * A session's id as it stands in node ids, so written that no two sessions' nodes meet, whatever names clients craft (ING-611, ING-615). Plain for
 * ordinary ids. `::` becomes `:%3A`, and a `:%` that was there `:%25`; `__` before a whole number, as before the time of an event, becomes `_:%5F`;
 * DEL and the controls behind it become `:%XX`; a session named like a kind of concept has its first letter as `:%XX`.
 */
export function sessionNodeId(session: string): string {
  const text = escapeColons(session)
    .replace(/__(?=-?\d+(?:_|$))/g, '_:%5F')
    .replace(/[\u007f-\u009f]/g, escapeOf);
  return conceptNames.test(text) ? escapeOf(text.slice(0, 1)) + text.slice(1) : text;
}

function escapeOf(character: string): string {
  return `:%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
