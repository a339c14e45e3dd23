/**
 * A session's id as it stands in node ids: `::` parts an owner from what it owns, so inside a session id it is written `:%3A` (ING-611), and
 * a `:%` that was there before `:%25`, so that no two sessions meet.
 */
export function sessionNodeId(session: string): string {
  return session.replace(/:([:%])/g, (_, second: string) => (second === ':' ? ':%3A' : ':%25'));
}
