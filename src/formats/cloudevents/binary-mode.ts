import { JsonInvalid, parseJson, type JsonObject, type JsonValue } from '#base';

/** Headers as Node gives them: lower-case names, values with bytes as Latin-1. */
export type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>;

const prefix = 'ce-';
const depthMax = 512;

/** The attributes stand in `ce-` headers and the body is the data (formats 5). Throws JsonInvalid. */
export function readBinaryEvent(headers: HeaderValues, body: Uint8Array): JsonObject {
  const attributes: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(prefix) || typeof value !== 'string') continue;
    if (name === 'ce-datacontenttype')
      throw new JsonInvalid('ce-datacontenttype must not be sent: Content-Type says it');
    attributes[name.slice(prefix.length)] = decodeHeader(value);
  }
  const type = headers['content-type'];
  if (typeof type === 'string') attributes['datacontenttype'] = type;
  return { ...attributes, ...dataOf(body, typeof type === 'string' ? type : undefined) };
}

/** Undoes HTTP's quoting, then decodes percent signs, once; bytes that are no UTF-8 are refused. */
export function decodeHeader(value: string): string {
  const quoted = /^"(.*)"$/s.exec(value);
  const plain = quoted === null ? value : (quoted[1] ?? '').replace(/\\(.)/gs, '$1');
  if (/%(?![0-9a-f]{2})/i.test(plain)) throw new JsonInvalid('a ce- header is not percent-encoded');
  const bytes = Buffer.from(
    plain.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    ),
    'latin1',
  );
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new JsonInvalid('a ce- header is not valid UTF-8', error);
  }
}

function dataOf(body: Uint8Array, contentType: string | undefined): JsonObject {
  if (body.byteLength === 0) return {};
  const [type = ''] = (contentType ?? 'application/json').toLowerCase().split(';');
  const name = type.trim();
  if (name === 'application/json' || name.endsWith('+json'))
    return { data: parseJson(body, { depthMax }) };
  if (!name.startsWith('text/')) return { data_base64: Buffer.from(body).toString('base64') };
  try {
    return { data: new TextDecoder('utf-8', { fatal: true }).decode(body) };
  } catch (error) {
    throw new JsonInvalid('the body is not valid UTF-8', error);
  }
}
