/** Forms of keys and tokens that their makers gave a mark of their own: hardly anything else looks like them. Each runs in linear time. */
export const keyPatterns: readonly RegExp[] = [
  /\bsk-ant-[A-Za-z0-9_-]{16,}/g,
  /\bsk-(?:proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{20,}/g,
  /\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\bya29\.[A-Za-z0-9_-]{20,}/g,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\bhf_[A-Za-z0-9]{24,}/g,
  /\bpypi-[A-Za-z0-9_-]{40,}/g,
  /\bdop_v1_[a-f0-9]{40,}/g,
  /\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{16,}/g,
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s:,\\-]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g,
];

/** User and password in front of a host. */
export const urlCredentials: RegExp =
  /(\b[a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/:@]{1,256}:[^\s/@]{1,256}(?=@)/gi;

const secretWord =
  '(?:pass(?:word|wd|phrase)|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|id[_-]?token|client[_-]?secret|credential)';

/** A member whose value is a secret, whatever stands in it. */
export const secretMember: RegExp = new RegExp(
  `^(?:[a-z0-9]+[_-])*${secretWord}s?$|^(?:authorization|proxy-authorization|cookie|set-cookie|x-api-key)$`,
  'i',
);

/** The same in a text: `export API_KEY=…`, `"password": "…"`, `--password …` with an equals sign or a colon. */
export const secretAssignment: RegExp = new RegExp(
  `(\\b(?:[a-z0-9]{1,40}[_-]){0,6}${secretWord}s?["']?\\s{0,4}[:=]\\s{0,4}["']?)([^\\s"',;&}]{4,})`,
  'gi',
);
