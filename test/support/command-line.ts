import { main } from '../../src/cli/main.ts';
import type { Printer } from '../../src/cli/print.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line in this process and gathers what it prints. */
export async function runLine(...words: readonly string[]): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const printer: Printer = {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    bytes: (chunk) => {
      out.push(Buffer.from(chunk).toString('utf8'));
      return Promise.resolve();
    },
    progress: () => undefined,
  };
  const code = await main(words, printer);
  return { code, out: out.join('\n'), err: err.join('\n') };
}

/** The same with `--json`; the document. */
export async function runJson<T>(...words: readonly string[]): Promise<T> {
  const { code, out, err } = await runLine(...words, '--json');
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${err}${out}`);
  return JSON.parse(out) as T;
}
