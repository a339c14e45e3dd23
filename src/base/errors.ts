/**
 * One error class with a registered code and one of six dispositions (D15, ING-024).
 * Callers switch on the disposition and show the code; nobody reads a message to decide.
 */
export type Disposition = 'retry' | 'reject' | 'poison' | 'fenced' | 'corrupt' | 'fatal';

/** JSON-safe details of a failure; never holds a payload or a secret. */
export type ErrorDetails = Readonly<Record<string, unknown>>;

export class MillraceError extends Error {
  readonly code: string;
  readonly disposition: Disposition;
  readonly details: ErrorDetails;

  constructor(
    code: string,
    disposition: Disposition,
    message: string,
    details: ErrorDetails,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'MillraceError';
    this.code = code;
    this.disposition = disposition;
    this.details = details;
  }
}

/** Makes errors of one code. `is` recognises them wherever they were thrown. */
export interface ErrorFactory<D extends ErrorDetails> {
  (details: D, cause?: unknown): MillraceError;
  readonly code: string;
  readonly disposition: Disposition;
  is(error: unknown): error is MillraceError;
}

export interface RegisteredCode {
  readonly code: string;
  readonly disposition: Disposition;
}

const registry = new Map<string, RegisteredCode>();

/**
 * Registers a code and returns its factory. A code is registered once in the whole program:
 * a second definition is a defect and throws at import time.
 */
export function defineError<D extends ErrorDetails>(
  code: string,
  disposition: Disposition,
  template: (details: D) => string,
): ErrorFactory<D> {
  if (registry.has(code)) throw new TypeError(`error code ${code} is defined twice`);
  registry.set(code, { code, disposition });
  const make = (details: D, cause?: unknown): MillraceError =>
    new MillraceError(code, disposition, template(details), details, cause);
  const is = (error: unknown): error is MillraceError =>
    error instanceof MillraceError && error.code === code;
  return Object.assign(make, { code, disposition, is });
}

/** Every code that the imported rooms have defined; the documentation test walks it. */
export function registeredCodes(): readonly RegisteredCode[] {
  return [...registry.values()];
}

export function isMillraceError(error: unknown): error is MillraceError {
  return error instanceof MillraceError;
}

/** The message of anything that was thrown, for logs and wrapped errors. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
