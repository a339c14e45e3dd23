/** What the probes tell (ING-948); made anew for each, without waiting for anything. */
export interface Health {
  readonly state:
    | 'starting'
    | 'recovering'
    | 'ready'
    | 'degraded'
    | 'draining'
    | 'fenced'
    | 'stopped';
  /** The process works and is not fenced; depends on nothing else. */
  readonly isLive: boolean;
  /** It can accept events durably; a graph that is away leaves it ready. */
  readonly isReady: boolean;
  /** Why it is not well; empty when it is. Without names of sessions: anybody may read it. */
  readonly reasons: readonly { readonly code: string; readonly message: string }[];
}
