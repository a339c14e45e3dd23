/** The few requests that end-to-end tests make, over plain fetch: what any client could do. */
export interface Books {
  readonly accepted: number;
  readonly applied: number;
  readonly pending: number;
  readonly dead: number;
  readonly discarded: number;
  readonly duplicates: number;
  readonly residual: number;
}

export interface Digest {
  readonly digest: string;
  readonly nodes: number;
  readonly edges: number;
}

export async function getJson<T>(url: string, path: string): Promise<T> {
  const answer = await fetch(`${url}${path}`);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`GET ${path} was answered ${answer.status}: ${text}`);
  return JSON.parse(text) as T;
}

export async function waitUntilIdle(url: string, timeoutMs = 30_000): Promise<void> {
  await getJson(url, `/v1/wait?until=idle&timeout=${timeoutMs}`);
}

export function readBooks(url: string): Promise<Books> {
  return getJson<Books>(url, '/v1/status');
}

export function readDigest(url: string): Promise<Digest> {
  return getJson<Digest>(url, '/v1/graph/digest');
}

/** Posts one NDJSON request; the status, or undefined when the connection broke and the outcome is unknown. */
export async function postLines(
  url: string,
  bodies: readonly string[],
): Promise<number | undefined> {
  try {
    const answer = await fetch(`${url}/v1/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: bodies.join('\n'),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
