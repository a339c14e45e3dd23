import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder that holds package.json: the checkout, or `dist` of a package, which has a copy of its own. */
export const productFolder: string = join(import.meta.dirname, '..', '..');

export function readProductVersion(): string {
  const text = readFileSync(join(productFolder, 'package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
