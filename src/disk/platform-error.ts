/** An error as node:fs makes it, for disks that are not the platform's: rooms classify by `code` alone. */
export interface PlatformError extends Error {
  readonly code: string;
  readonly syscall: string;
  readonly path: string;
}

export function platformError(code: string, syscall: string, path: string): PlatformError {
  return Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path });
}

/** The platform's code of anything that was thrown, such as ENOSPC; undefined when it has none. */
export function platformCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
