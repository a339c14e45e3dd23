import type { KeyStatus } from '#queue';
import { encodeKey, parseKey } from '#record';
import { sessionAmbiguous, sessionUnknown } from './errors.ts';
import type { OpsContext } from './ops-context.ts';
import type { Caller } from './verb.ts';

/** More workspaces with one session id than anybody reads in an error. */
const ambiguityMax = 20;

export function maySee(caller: Caller, workspace: string): boolean {
  return caller.workspaces === undefined || caller.workspaces.includes(workspace);
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
      : [await context.ledger.keyStatus(encodeKey(workspace, session))];
  const found = candidates.filter(
    (status): status is KeyStatus => status !== undefined && maySee(caller, status.workspace),
  );
  const [first] = found;
  if (first === undefined) throw sessionUnknown({ session });
  if (found.length > 1)
    throw sessionAmbiguous({ session, workspaces: found.map((status) => status.workspace) });
  return first;
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
