/** One server-sent event; `data` is its text. */
export interface SentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** Splits a stream into its events; comments and fields that are not known are passed over. */
export async function* eventsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SentEvent> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = parseBlock(text.slice(0, end));
      text = text.slice(end + 2);
      if (event !== undefined) yield event;
    }
  }
}

function parseBlock(block: string): SentEvent | undefined {
  let id: string | undefined;
  let event = 'message';
  let data: string | undefined;
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    const value = line.slice(colon + 1).replace(/^ /, '');
    if (line.startsWith('id:')) id = value;
    else if (line.startsWith('event:')) event = value;
    else if (line.startsWith('data:')) data = data === undefined ? value : `${data}\n${value}`;
  }
  return data === undefined ? undefined : { id, event, data };
}
