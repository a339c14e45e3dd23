import type { Disk } from '#disk';

/** Paths and contents of all that is below a folder: equal trees are equal folders. */
export async function treeOf(disk: Disk, path: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const { name, kind } of await disk.readDirectory(path)) {
    const at = path === '/' ? `/${name}` : `${path}/${name}`;
    if (kind === 'directory') {
      tree[`${at}/`] = '';
      Object.assign(tree, await treeOf(disk, at));
    } else tree[at] = Buffer.from((await disk.readFile(at)) ?? []).toString('latin1');
  }
  return tree;
}

export async function writeSynced(
  disk: Disk,
  path: string,
  text: string,
  offset = 0,
): Promise<void> {
  const file = await disk.open(path, 'write');
  await file.writeAt([Buffer.from(text, 'latin1')], offset);
  await file.sync();
  await file.close();
}

export async function writeUnsynced(
  disk: Disk,
  path: string,
  text: string,
  offset = 0,
): Promise<void> {
  const file = await disk.open(path, 'write');
  await file.writeAt([Buffer.from(text, 'latin1')], offset);
  await file.close();
}
