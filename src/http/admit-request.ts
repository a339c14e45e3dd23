import type { FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import { requireScope, type Access, type Principal } from '#access';

/** Hooks of the routes: whether a request may come in, and whose it is, before a byte of its body is read. */

export function checkBrowser({ headers }: FastifyRequest, access: Access): void {
  access.checkBrowser(headers.host, headers.origin);
}

/** For routes of verbs; anybody may ask the open ones, though who is proved may see more. */
export function admitCaller(request: FastifyRequest, access: Access, isOpen: boolean): void {
  checkBrowser(request, access);
  const { authorization } = request.headers;
  const principal = isOpen ? access.identify(authorization) : access.authenticate(authorization);
  request.state = { principal };
}

/** For whoever sends events. */
export function admitSender(
  { host, origin, authorization }: IncomingHttpHeaders,
  access: Access,
): Principal {
  access.checkBrowser(host, origin);
  const principal = access.authenticate(authorization);
  requireScope(principal, 'ingest:write');
  return principal;
}
