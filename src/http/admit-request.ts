import type { FastifyRequest } from 'fastify';
import { requireScope, type Access } from '#access';

/** Hooks of the routes: whether a request may come in, and whose it is, before a byte of its body is read. */

export function checkBrowser({ headers }: FastifyRequest, access: Access): void {
  access.checkBrowser(headers.host, headers.origin);
}

/** For routes that take events. */
export function admitEvents(request: FastifyRequest, access: Access): void {
  checkBrowser(request, access);
  const principal = access.authenticate(request.headers.authorization);
  requireScope(principal, 'ingest:write');
  request.state = { principal, reservedBytes: 0, beganMs: 0 };
}

/** For routes of verbs; anybody may ask the open ones, though who is proved may see more. */
export function admitCaller(request: FastifyRequest, access: Access, isOpen: boolean): void {
  checkBrowser(request, access);
  const { authorization } = request.headers;
  const principal = isOpen ? access.identify(authorization) : access.authenticate(authorization);
  request.state = { principal, reservedBytes: 0, beganMs: 0 };
}
