import type { BodyForm } from '#ingest';
import { mediaTypeUnsupported } from '../errors.ts';

const forms: Readonly<Record<string, BodyForm>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/x-jsonlines': 'ndjson',
};

/** How the records stand in a body, by its Content-Type; throws MEDIA_TYPE_UNSUPPORTED. */
export function bodyForm(contentType: string | undefined): BodyForm {
  // What nearly every client sends costs no parsing.
  if (contentType === 'application/json') return 'json';
  if (contentType === 'application/x-ndjson') return 'ndjson';
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const form = Object.hasOwn(forms, type.trim()) ? forms[type.trim()] : undefined;
  if (form === undefined)
    throw mediaTypeUnsupported({
      reason: `the Content-Type ${JSON.stringify(contentType?.slice(0, 100) ?? '')} is not understood: send application/json (one event or an array) or application/x-ndjson (one event on each line)`,
    });
  const charset = parameters
    .map((parameter) => parameter.trim())
    .find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?(utf-8|utf8|us-ascii)"?$/.test(charset))
    throw mediaTypeUnsupported({ reason: `${charset} is not understood: events are UTF-8` });
  return form;
}

/** Whether a body is packed with gzip; throws MEDIA_TYPE_UNSUPPORTED for any other encoding. */
export function isGzipped(contentEncoding: string | undefined): boolean {
  if (contentEncoding === undefined) return false;
  const encoding = contentEncoding.trim().toLowerCase();
  if (encoding === 'gzip' || encoding === 'x-gzip') return true;
  if (encoding === 'identity' || encoding === '') return false;
  throw mediaTypeUnsupported({
    reason: `the Content-Encoding ${JSON.stringify(contentEncoding.slice(0, 100))} is not understood: send gzip or none`,
  });
}
