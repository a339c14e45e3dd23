import { type TBoolean, type TObject, type TOptional, type TString, Type } from 'typebox';
import { forbidden } from '#access';
import type { KeyStatus } from '#queue';
import { encodeKey, parseKey } from '#record';
import { sessionAmbiguous, sessionUnknown } from '../errors.ts';
import type { OpsContext } from '../ops-context.ts';
import type { Caller } from '../verb.ts';

/** More workspaces with one session id than anybody reads in an error. */
const ambiguityMax = 20;

/** Input of an act on one session that can be tried first. */
export const sessionActInput: TObject<{
  session: TString;
  workspace: TOptional<TString>;
  dry_run: TOptional<TBoolean>;
}> = Type.Object(
  {
    session: Type.String({ minLength: 1 }),
    workspace: Type.Optional(Type.String()),
    dry_run: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

export function maySee(caller: Caller, workspace: string): boolean {
  return caller.workspaces === undefined || caller.workspaces.includes(workspace);
}

/** Throws FORBIDDEN for an answer about the whole root, unless the caller may use all of it. */
export function requireAllWorkspaces(caller: Caller, what: string): void {
  if (caller.workspaces === undefined) return;
  throw forbidden({
    reason: `${what} tells of all workspaces, this token may use ${caller.workspaces.join(', ')}`,
  });
}

/** A session by its key, or by its id while that is unique: as the predecessor's routes name it (ING-946). */
export async function findWorker(
  context: OpsContext,
  workerKey: string,
  caller: Caller,
): Promise<KeyStatus> {
  const key = parseKey(workerKey);
  const status = key === undefined ? undefined : await context.ledger.keyStatus(key);
  if (status !== undefined && maySee(caller, status.workspace)) return status;
  return findSession(context, workerKey, undefined, caller);
}

/** A session by id and workspace, by id alone while it is unique (ING-028), or by its key. */
export async function findSession(
  context: OpsContext,
  session: string,
  workspace: string | undefined,
  caller: Caller,
): Promise<KeyStatus> {
  const candidates =
    workspace === undefined
      ? await byIdAlone(context, session)
      : [await statusByIds(context, workspace, session)];
  const found = candidates.filter(
    (status): status is KeyStatus => status !== undefined && maySee(caller, status.workspace),
  );
  const [first] = found;
  if (first === undefined) throw sessionUnknown({ session });
  if (found.length > 1)
    throw sessionAmbiguous({ session, workspaces: found.map((status) => status.workspace) });
  return first;
}

/** A root has keys of one encoding; which one, the backend knows. */
export async function statusByIds(
  context: OpsContext,
  workspace: string,
  session: string,
): Promise<KeyStatus | undefined> {
  const plain = await context.ledger.keyStatus(encodeKey(workspace, session));
  return plain ?? context.ledger.keyStatus(encodeKey(workspace, session, 'hashed'));
}

async function byIdAlone(
  context: OpsContext,
  session: string,
): Promise<readonly (KeyStatus | undefined)[]> {
  const found = await context.ledger.listKeys({ session, limit: ambiguityMax });
  if (found.length > 0) return found;
  const key = parseKey(session);
  return key === undefined ? [] : [await context.ledger.keyStatus(key)];
}
