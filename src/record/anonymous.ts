/**
 * Name of everybody who need not prove who they are: on a loopback listener while no token exists (ING-016). Kept as `by` of their records; no token
 * may take it, and no session is owned by it.
 */
export const anonymousPrincipal = 'local';
