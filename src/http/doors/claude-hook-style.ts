import { isJsonObject, JsonInvalid, parseJson } from '#base';
import { bodyOfDraft, translateHook } from '#formats';
import { eventInvalid, recordNotJson } from '#ingest';
import { workspaceOf, type DoorStyle } from './door-style.ts';
import { bodyForm } from './media-type.ts';

/** Deeper nesting is refused before anything walks it; admission is stricter. */
const depthMax = 512;

/**
 * Hooks of Claude Code (`type: "http"`): one payload, answered by 204 and no body once it is on disk. Whatever a body said might be taken as an
 * instruction to the agent (formats 2.3).
 */
export const claudeHookStyle: DoorStyle = {
  takesEmpty: false,
  checkType: (headers) => {
    bodyForm(headers['content-type']);
  },
  read(request) {
    const payload = parsePayload(request.body);
    const drafts = translateHook(payload, { time: request.time, workspace: workspaceOf(request) });
    return { bodies: drafts.map((draft) => bodyOfDraft(draft)), refused: 0, reason: '' };
  },
  reply(answer) {
    return answer !== undefined && answer.rejects.length > 0
      ? undefined
      : { status: 204, body: '' };
  },
};

function parsePayload(body: Uint8Array): Parameters<typeof translateHook>[0] {
  try {
    const value = parseJson(body, { depthMax });
    if (isJsonObject(value) && typeof value['hook_event_name'] === 'string') return value;
  } catch (error) {
    if (!(error instanceof JsonInvalid)) throw error;
    throw recordNotJson({ reason: error.message }, error);
  }
  throw eventInvalid({ reason: 'a hook sends one JSON object with hook_event_name' });
}
