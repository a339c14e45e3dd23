/** Members of an event that become part of the record by name; all others are `more`. Each of them but `data` is a text, null or a truth value. */
export const ownMembers: ReadonlySet<string> = new Set([
  'event',
  'workspace',
  'session_id',
  'event_id',
  'idempotency_key',
  'derived_id',
  'data',
]);

/** Members of its data by which an event is checked. */
export const checkedDataMembers: ReadonlySet<string> = new Set(['timestamp', 'session_id']);
