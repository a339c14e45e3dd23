import type { FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import { requireScope, type Access, type Principal } from '#access';

/** Hooks of the routes: whether a request may come in, and whose it is, before a byte of its body is read. */

/** For all routes but those that take events. */
export function checkAddressed({ headers }: FastifyRequest, access: Access): void {
  access.checkBrowser(headers.host, headers.origin);
  access.checkRoot(headers['millrace-root']);
}

/** For routes of verbs; anybody may ask the open ones, though who is proved may see more. */
export function admitCaller(request: FastifyRequest, access: Access, isOpen: boolean): void {
  checkAddressed(request, access);
  const { authorization } = request.headers;
  const principal = isOpen ? access.identify(authorization) : access.authenticate(authorization);
  request.state = { principal };
}

/** For whoever sends events. */
export function admitSender(
  { host, origin, authorization, 'millrace-root': root }: IncomingHttpHeaders,
  access: Access,
): Principal {
  access.checkBrowser(host, origin);
  access.checkRoot(root);
  const principal = access.authenticate(authorization);
  requireScope(principal, 'ingest:write');
  return principal;
}
