/** Rows of a question, as the daemon answers them. */
export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly has_more: boolean;
}

/** Asks the running daemon; rejects with a MillraceError whose message may be shown to the agent. */
export interface Asker {
  query(
    name: string,
    parameters: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<Answer>;
  cypher(body: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Answer>;
}
