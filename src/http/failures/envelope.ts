import type { Failure } from './describe-failure.ts';

/** The predecessor's routes carry `detail` beside our members (ING-947); all of them stand outside `/v1`. */
export function isPredecessorPath(url: string): boolean {
  return !url.startsWith('/v1/');
}

/** The body of every error (ING-010), as JSON text. */
export function envelope(
  failure: Failure,
  request: { readonly id: string; readonly isPredecessor: boolean },
): string {
  const { code, message, retryAfterSeconds, details } = failure;
  const shown = Object.fromEntries(
    Object.entries(details).filter(([name, value]) => name !== 'retryAfterMs' && value !== message),
  );
  const isPassing = retryAfterSeconds !== undefined;
  return JSON.stringify({
    error: {
      code,
      message,
      retryable: isPassing,
      ...(isPassing ? { retry_after_ms: retryAfterSeconds * 1000 } : {}),
      ...(Object.keys(shown).length === 0 ? {} : { details: shown }),
    },
    request_id: request.id,
    ...(request.isPredecessor ? { detail: message } : {}),
  });
}
