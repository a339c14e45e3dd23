import { defineError, type ErrorFactory } from '#base';

export const sessionUnknown: ErrorFactory<{ session: string }> = defineError(
  'SESSION_UNKNOWN',
  'reject',
  ({ session }) => `no session is called ${session}; "millrace sessions list" shows them all`,
);

export const quarantineUnknown: ErrorFactory<{ session: string }> = defineError(
  'QUARANTINE_UNKNOWN',
  'reject',
  ({ session }) =>
    `session ${session} is not in quarantine; "millrace quarantine list" shows those that are`,
);

export const sessionAmbiguous: ErrorFactory<{ session: string; workspaces: readonly string[] }> =
  defineError(
    'SESSION_AMBIGUOUS',
    'reject',
    ({ session, workspaces }) =>
      `session ${session} exists in ${workspaces.join(', ')}: name the workspace`,
  );

export const tokenUnknown: ErrorFactory<{ name: string }> = defineError(
  'TOKEN_UNKNOWN',
  'reject',
  ({ name }) => `there is no token called ${name}; "millrace tokens list" shows them all`,
);

/** With the first token everybody needs one; without an operator's nobody could make or revoke any on the running daemon. */
export const operatorMissing: ErrorFactory<{ name: string; act: 'add' | 'revoke' }> = defineError(
  'OPERATOR_MISSING',
  'reject',
  ({ name, act }) =>
    (act === 'add'
      ? `"${name}" would be the first token and has no ops:write: from then on nobody could manage tokens on the running daemon. Make one for the operator first ("millrace tokens add ops --scope ops:read ops:write ingest:read")`
      : `"${name}" is the last token with ops:write for all workspaces: without it nobody could manage tokens on the running daemon. Make another first`) +
    ', or say --without-operator: then tokens are managed while it is stopped, with --root',
);

export const waitTimedOut: ErrorFactory<{ until: string; timeoutMs: number; pending: number }> =
  defineError(
    'WAIT_TIMED_OUT',
    'retry',
    ({ until, timeoutMs, pending }) =>
      `not ${until} within ${timeoutMs} ms, ${pending} records are pending: wait again, or look at "millrace status"`,
  );

/** ING-014: the first request under the key was another one. */
export const idempotencyConflict: ErrorFactory<{ key: string; operation_id: string }> = defineError(
  'IDEMPOTENCY_CONFLICT',
  'reject',
  ({ key, operation_id }) =>
    `the Idempotency-Key ${JSON.stringify(key)} belongs to another request (operation ${operation_id}): send the same request, or take a new key`,
);

export const operationInFlight: ErrorFactory<{ key: string }> = defineError(
  'OPERATION_IN_FLIGHT',
  'retry',
  ({ key }) =>
    `the request with the Idempotency-Key ${JSON.stringify(key)} is still at work: ask again in a moment`,
);

export const operationsFull: ErrorFactory<Record<string, never>> = defineError(
  'OPERATIONS_FULL',
  'retry',
  () =>
    'too many acts with an Idempotency-Key within a day, no more of their answers can be kept: send without a key, or later',
);

export const answerNotKept: ErrorFactory<{ operation_id: string }> = defineError(
  'ANSWER_NOT_KEPT',
  'reject',
  ({ operation_id }) =>
    `operation ${operation_id} is done; its answer held a secret and is kept for some minutes only: revoke what it made and make another`,
);

export const keyUnknown: ErrorFactory<{ key: string }> = defineError(
  'KEY_UNKNOWN',
  'reject',
  ({ key }) => `${key} is no key of a session; "millrace status" names the keys that stand still`,
);

export const nodeUnknown: ErrorFactory<{ node: string; workspace: string }> = defineError(
  'NODE_UNKNOWN',
  'reject',
  ({ node, workspace }) => `workspace ${workspace} has no node ${node}`,
);

/** In the words of the predecessor, whose clients show them (`/blobs/{session}/{key}`). */
export const blobUnknown: ErrorFactory<{ session: string; key: string }> = defineError(
  'BLOB_UNKNOWN',
  'reject',
  ({ session, key }) => `Blob not found: ci-blob://${session}/${key}`,
);

export const objectUnknown: ErrorFactory<{ sha256: string }> = defineError(
  'OBJECT_UNKNOWN',
  'reject',
  ({ sha256 }) => `there is no object ${sha256}`,
);

/** The graph names it still; its bytes went by age or size. */
export const objectExpired: ErrorFactory<{ sha256: string; at: string }> = defineError(
  'OBJECT_EXPIRED',
  'reject',
  ({ sha256, at }) =>
    `object ${sha256} was taken away by retention.objects at ${at}: a backup from before has it`,
);

export const retentionRuleMissing: ErrorFactory<{ part: string }> = defineError(
  'RETENTION_RULE_MISSING',
  'reject',
  ({ part }) =>
    `no rule says what of ${part} may go: name an age or a size (--older-than, --max-bytes), or set retention.${part}.max_age or .max_bytes`,
);

export const retentionUnsupported: ErrorFactory<{ part: string }> = defineError(
  'RETENTION_UNSUPPORTED',
  'reject',
  ({ part }) => `the graph store of this root lets nothing of ${part} go by age or size`,
);

export const pageTokenInvalid: ErrorFactory<{ reason: string }> = defineError(
  'PAGE_TOKEN_INVALID',
  'reject',
  ({ reason }) => `the page_token cannot be used: ${reason}; begin again without one`,
);

export const sessionDeleteUnsupported: ErrorFactory<Record<string, never>> = defineError(
  'SESSION_DELETE_UNSUPPORTED',
  'reject',
  () => 'the graph store of this root cannot take a session out: nothing was changed',
);
