import { posix } from 'node:path';
import { assert } from '#base';
import { MemoryDirectory, MemoryFile, type MemoryNode } from './memory-tree.ts';
import { platformError } from './platform-error.ts';
import type { FileChange, PowerLoss } from './power-loss.ts';

/**
 * A file system in memory, one call after another, that tells what is durable from what is only there. An entry needs the sync of its own
 * folder and bytes need the sync of their file; nothing is promised beyond that, though real file systems often give more.
 */
export class MemoryVolume {
  readonly #root: MemoryDirectory;
  readonly #failedSyncs: PowerLoss['failedSyncs'];
  #sequence: number;
  #inodes: number;

  constructor(
    failedSyncs: PowerLoss['failedSyncs'],
    root: MemoryDirectory = new MemoryDirectory(1),
    sequence = 0,
    inodes = 1,
  ) {
    this.#failedSyncs = failedSyncs;
    this.#root = root;
    this.#sequence = sequence;
    this.#inodes = inodes;
  }

  /** The place of the latest change; what comes later is not covered by a sync that begins now. */
  get sequence(): number {
    return this.#sequence;
  }

  after(loss: PowerLoss): MemoryVolume {
    return new MemoryVolume(loss.failedSyncs, this.#root.after(loss), 0, this.#inodes);
  }

  copy(failedSyncs: PowerLoss['failedSyncs'] = this.#failedSyncs): MemoryVolume {
    return new MemoryVolume(failedSyncs, this.#root.copy(), this.#sequence, this.#inodes);
  }

  find(path: string, call: string): MemoryNode | undefined {
    let node: MemoryNode | undefined = this.#root;
    for (const name of namesOf(path)) {
      if (node === undefined) return undefined;
      if (node.kind === 'file') throw platformError('ENOTDIR', call, path);
      node = node.current.get(name);
    }
    return node;
  }

  get(path: string, call: string): MemoryNode {
    const node = this.find(path, call);
    if (node === undefined) throw platformError('ENOENT', call, path);
    return node;
  }

  file(path: string, call: string): MemoryFile {
    const node = this.get(path, call);
    if (node.kind === 'directory') throw platformError('EISDIR', call, path);
    return node;
  }

  directory(path: string, call: string): MemoryDirectory {
    const node = this.get(path, call);
    if (node.kind === 'file') throw platformError('ENOTDIR', call, path);
    return node;
  }

  createFile(path: string): MemoryFile {
    const [parent, name] = this.#place(path, 'open');
    if (parent.current.has(name)) throw platformError('EEXIST', 'open', path);
    const file = new MemoryFile(this.#nextInode());
    parent.change(this.#next(), { put: [name, file] });
    return file;
  }

  makeDirectory(path: string): void {
    const names = namesOf(path);
    for (let depth = 1; depth <= names.length; depth += 1) {
      const level = `/${names.slice(0, depth).join('/')}`;
      const [parent, name] = this.#place(level, 'mkdir');
      const found = parent.current.get(name);
      if (found?.kind === 'file')
        throw platformError(depth === names.length ? 'EEXIST' : 'ENOTDIR', 'mkdir', path);
      if (found !== undefined) continue;
      parent.change(this.#next(), { put: [name, new MemoryDirectory(this.#nextInode())] });
    }
  }

  rename(from: string, to: string): void {
    const [source, sourceName] = this.#place(from, 'rename');
    const [target, targetName] = this.#place(to, 'rename');
    const node = this.get(from, 'rename');
    if (posix.normalize(to).startsWith(`${posix.normalize(from)}/`))
      throw platformError('EINVAL', 'rename', to);
    const replaced = target.current.get(targetName);
    if (replaced === node) return;
    if (replaced !== undefined) refuseReplace(node, replaced, to);
    if (source === target) {
      source.change(this.#next(), { remove: sourceName, put: [targetName, node] });
      return;
    }
    target.change(this.#next(), { put: [targetName, node] });
    source.change(this.#next(), { remove: sourceName });
  }

  unlink(path: string): void {
    this.file(path, 'unlink');
    const [parent, name] = this.#place(path, 'unlink');
    parent.change(this.#next(), { remove: name });
  }

  change(file: MemoryFile, change: FileChange): void {
    file.change(this.#next(), change);
  }

  syncFile(file: MemoryFile, upTo: number): void {
    file.sync(upTo, this.#failedSyncs);
  }

  /** Bytes of all files that a name leads to. */
  usedBytes(directory: MemoryDirectory = this.#root): number {
    let used = 0;
    for (const node of directory.current.values())
      used += node.kind === 'file' ? node.current.size : this.usedBytes(node);
    return used;
  }

  #place(path: string, call: string): [parent: MemoryDirectory, name: string] {
    const normal = posix.normalize(path);
    const parent = this.directory(posix.dirname(normal), call);
    return [parent, posix.basename(normal)];
  }

  #next(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  #nextInode(): number {
    this.#inodes += 1;
    return this.#inodes;
  }
}

function namesOf(path: string): readonly string[] {
  assert(posix.isAbsolute(path), `a path on the memory disk is absolute: ${path}`);
  return posix
    .normalize(path)
    .split('/')
    .filter((name) => name !== '');
}

function refuseReplace(node: MemoryNode, replaced: MemoryNode, to: string): void {
  if (replaced.kind === 'file' && node.kind === 'directory')
    throw platformError('ENOTDIR', 'rename', to);
  if (replaced.kind === 'directory' && node.kind === 'file')
    throw platformError('EISDIR', 'rename', to);
  if (replaced.kind === 'directory' && replaced.current.size > 0)
    throw platformError('ENOTEMPTY', 'rename', to);
}
