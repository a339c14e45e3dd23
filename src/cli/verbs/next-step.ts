import { isMillraceError } from '#base';

/** What to type next, by code; where a message already says it, nothing. */
const commands: Readonly<Record<string, string>> = {
  DAEMON_UNREACHABLE: 'millrace serve',
  AUTH_REQUIRED: 'millrace tokens add ops --scope ops:read ops:write ingest:read --root DIR',
  UNAUTHENTICATED: 'millrace tokens add NAME, then --token TOKEN or MILLRACE_TOKEN',
  FORBIDDEN: 'millrace tokens list',
  SESSION_UNKNOWN: 'millrace sessions list',
  SESSION_AMBIGUOUS: 'millrace sessions list, then --workspace NAME',
  DEAD_LETTER_UNKNOWN: 'millrace dead list',
  DEAD_LETTER_STATE: 'millrace dead show ID',
  DEAD_LETTER_RETIRED: 'the same with --into-current',
  EDIT_REFUSED: 'millrace dead edit ID --print',
  SELECTION_CHANGED: 'millrace dead list',
  JOB_UNKNOWN: 'millrace jobs list',
  QUERY_INVALID: 'millrace graph query',
  QUERY_UNKNOWN: 'millrace graph query',
  SESSION_PENDING: 'millrace wait',
  SESSION_QUARANTINED: 'millrace quarantine list',
  GRAPH_UNAVAILABLE: 'millrace status',
  WAIT_TIMED_OUT: 'millrace status',
  CONFIG_INVALID: 'millrace config show (what may be set), millrace config check (after a change)',
};

/** `Next: …`, or undefined where there is nothing better to say than the message. */
export function nextStep(error: unknown): string | undefined {
  const command = isMillraceError(error) ? commands[error.code] : undefined;
  return command === undefined ? undefined : `Next: ${command}`;
}
