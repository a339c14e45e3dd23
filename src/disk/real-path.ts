import { realpath } from 'node:fs/promises';
import { platformCode } from './platform-error.ts';

/** Where a path leads once every link in it is followed; undefined when there is nothing. */
export async function realPathOf(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if (platformCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
