/** The unit of order, and the queue's key: encoded workspace + session id (ING-110). */
export type Key = string & { readonly __key: unique symbol };

/** The two ids a key was made of. */
export interface KeyParts {
  readonly workspace: string;
  readonly session: string;
}
