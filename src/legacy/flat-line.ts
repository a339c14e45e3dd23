import { isJsonObject, JsonInvalid, parseJson, sliceMembers } from '#base';
import { sessionOfNone } from '#record';

/**
 * A stored record as the predecessor's line, without its line break: the body of `POST /events` with `idempotency_key` and `created_by`. `data` and the
 * other members keep their bytes. Undefined for what is no record of ours. Pure.
 */
export function flatLine(raw: Uint8Array): string | undefined {
  const spans = spansOf(raw);
  const [event, workspace, data] = [spans?.get('ev'), spans?.get('ws'), spans?.get('data')];
  if (spans === undefined || event === undefined || workspace === undefined || data === undefined)
    return undefined;
  const members = [`"event":${event}`, `"workspace":${workspace}`];
  const id = spans.get('id');
  if (id !== undefined) members.push(`"idempotency_key":${id}`);
  const more = spans.get('more')?.slice(1, -1).trim() ?? '';
  if (more !== '') members.push(more);
  members.push(`"data":${withSession(data, spans.get('sid'), workspace)}`);
  members.push(`"created_by":${spans.get('by') ?? 'null'}`);
  return `{${members.join(',')}}`;
}

/** The predecessor looks for the session in `data` alone. */
function withSession(data: string, session: string | undefined, workspace: string): string {
  if (session === undefined) return data;
  const isOfNone = JSON.parse(session) === sessionOfNone(JSON.parse(workspace) as string);
  const own = (JSON.parse(data) as Readonly<Record<string, unknown>>)['session_id'];
  if (isOfNone || (typeof own === 'string' && own !== '')) return data;
  const open = data.slice(0, data.lastIndexOf('}')).trimEnd();
  return `${open}${open.endsWith('{') ? '' : ','}"session_id":${session}}`;
}

function spansOf(raw: Uint8Array): ReadonlyMap<string, string> | undefined {
  try {
    if (!isJsonObject(parseJson(raw))) return undefined;
  } catch (error) {
    if (error instanceof JsonInvalid) return undefined;
    throw error;
  }
  return new Map(
    sliceMembers(raw).map(({ key, start, end }) => [
      key,
      Buffer.from(raw.subarray(start, end)).toString('utf8'),
    ]),
  );
}
