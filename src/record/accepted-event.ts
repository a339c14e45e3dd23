/** A client's event, checked: what admission stores and what dedup compares. */
export interface AcceptedEvent {
  readonly workspace: string;
  /** As the client named it, or the sentinel of an event without one (ING-944). */
  readonly session: string;
  /** False for the sentinel: the answer's `session_id` is null then. */
  readonly hasSession: boolean;
  readonly eventId: string | undefined;
  /** The id was made by a format, not sent (D21). */
  readonly isDerivedId: boolean;
  readonly event: string;
  /** The client's own bytes of `data`, one JSON object; line breaks between its tokens are spaces (ING-919). */
  readonly dataBytes: Uint8Array;
  /** One JSON object made of the client's other top-level members, in the same way; undefined without any. */
  readonly moreBytes: Uint8Array | undefined;
}
