import type { IncomingHttpHeaders } from 'node:http';
import { isCloudRequest } from '../doors/cloud-event-style.ts';

/** What of a head stays the same from request to request of one client; its content-length alone may vary. */
export interface PlainHead {
  readonly url: string;
  /** All but content-length. */
  readonly headers: Readonly<Record<string, string>>;
  /** Its bytes up to the digits of content-length. */
  readonly before: Buffer;
  /** Its bytes behind them, the empty line included. */
  readonly after: Buffer;
}

/** A request that begins where a chunk begins. */
export interface PlainRequest {
  readonly head: PlainHead;
  /** As Node would give them. */
  readonly headers: IncomingHttpHeaders;
  readonly bodyAt: number;
  /** Of the body; the chunk may hold less of it, or more behind it. */
  readonly bodyBytes: number;
}

const headBytesMax = 8 * 1024;
const headersMax = 64;
const lengthDigitsMax = 9;

const urls: ReadonlyMap<string, string> = new Map([
  ['POST /v1/events HTTP/1.1', '/v1/events'],
  ['POST /events HTTP/1.1', '/events'],
]);

/** They change what is sent, how it is framed or what becomes of the connection, or Node gives them as something else than text. */
const handedOver: ReadonlySet<string> = new Set([
  'content-encoding',
  'expect',
  'http2-settings',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Reads the head of a request for events, if it is entirely plain: every line ends with CRLF, every name is letters, digits and hyphens, stands once and
 * has a value of visible ASCII, and its length is told in digits. Undefined stands for everything else, wrong or merely unusual: Node's parser judges
 * it. `known` is the head before this one on the same connection, which spares reading it again. Pure.
 */
export function readPlain(chunk: Buffer, known: PlainHead | undefined): PlainRequest | undefined {
  return (known === undefined ? undefined : readKnown(chunk, known)) ?? readNew(chunk);
}

function readKnown(chunk: Buffer, head: PlainHead): PlainRequest | undefined {
  const { before, after } = head;
  const lengthAt = before.byteLength;
  if (chunk.byteLength <= lengthAt || before.compare(chunk, 0, lengthAt) !== 0) return undefined;
  const lengthEnd = digitsEnd(chunk, lengthAt);
  const bodyAt = lengthEnd + after.byteLength;
  if (chunk.byteLength < bodyAt || after.compare(chunk, lengthEnd, bodyAt) !== 0) return undefined;
  return plainRequest(head, chunk.toString('latin1', lengthAt, lengthEnd), bodyAt);
}

function readNew(chunk: Buffer): PlainRequest | undefined {
  // The first byte tells most of what is no such request.
  if (chunk[0] !== 0x50) return undefined;
  const end = chunk.subarray(0, headBytesMax).indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = chunk.toString('latin1', 0, end).split('\r\n');
  const url = urls.get(first);
  if (url === undefined || lines.length > headersMax) return undefined;
  const headers = readHeaders(lines);
  if (headers === undefined || !isPlain(headers)) return undefined;
  const { 'content-length': length = '', ...others } = headers;
  const lengthAt = lengthPlace(first, lines);
  const lengthEnd = lengthAt + length.length;
  const bodyAt = end + 4;
  // Copies: a view would keep the body of this request in memory.
  const before = Buffer.from(chunk.subarray(0, lengthAt));
  const after = Buffer.from(chunk.subarray(lengthEnd, bodyAt));
  return plainRequest({ url, headers: others, before, after }, length, bodyAt);
}

const headerLine = /^([A-Za-z0-9-]+): ?([!-~](?:[ -~]*[!-~])?)$/;

function readHeaders(lines: readonly string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, spelled, value] = headerLine.exec(line) ?? [];
    if (spelled === undefined || value === undefined) return undefined;
    const name = spelled.toLowerCase();
    if (Object.hasOwn(headers, name) || handedOver.has(name)) return undefined;
    headers[name] = value;
  }
  return headers;
}

function isPlain(headers: Readonly<Record<string, string>>): boolean {
  const { host, connection } = headers;
  if (host === undefined || headers['content-length'] === undefined) return false;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return false;
  return !isCloudRequest(headers);
}

/** Where the digits of content-length begin. */
function lengthPlace(first: string, lines: readonly string[]): number {
  let at = first.length + 2;
  for (const line of lines) {
    const match = /^content-length: ?/i.exec(line);
    if (match !== null) return at + match[0].length;
    at += line.length + 2;
  }
  return at;
}

function plainRequest(head: PlainHead, length: string, bodyAt: number): PlainRequest | undefined {
  if (length.length > lengthDigitsMax || !/^(?:0|[1-9]\d*)$/.test(length)) return undefined;
  return {
    head,
    headers: { ...head.headers, 'content-length': length },
    bodyAt,
    bodyBytes: Number(length),
  };
}

function digitsEnd(chunk: Buffer, start: number): number {
  let at = start;
  while (at < chunk.byteLength && at - start <= lengthDigitsMax && isDigit(chunk[at])) at += 1;
  return at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}
