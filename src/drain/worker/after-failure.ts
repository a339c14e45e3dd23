import { unreachable, type Disposition } from '#base';

/** What the drain does after a failure (ING-536). */
export type AfterFailure =
  /** The same again after a wait; no budget is used up (ING-511). */
  | 'try-again'
  /** Cut it in two until the record stands alone, then its budget, then a dead letter. */
  | 'isolate'
  /** This key stops, all others go on (ING-405, ING-408). */
  | 'stop-key'
  /** Every write stops at once; the daemon decides how it ends (ING-519). */
  | 'stop-all';

/** The drain's one switch over the dispositions (D15). */
export function afterFailure(disposition: Disposition): AfterFailure {
  switch (disposition) {
    case 'retry':
      return 'try-again';
    case 'poison':
      return 'isolate';
    case 'corrupt':
      return 'stop-key';
    case 'fenced':
    case 'fatal':
      return 'stop-all';
    // A caller's fault cannot come from a stored record: it is a defect of ours, and the worker is rebuilt rather than a record lost.
    case 'reject':
      return 'try-again';
    default:
      return unreachable(disposition);
  }
}
