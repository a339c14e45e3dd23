import { MemoryBytes } from './memory-bytes.ts';
import {
  applyChange,
  contentAfter,
  keepsEntry,
  type FileChange,
  type PowerLoss,
} from './power-loss.ts';

/** A change with its place in the order of all changes of the disk, so that a sync covers what was there when it began and nothing later. */
interface Pending<T> {
  readonly sequence: number;
  readonly change: T;
  /** A sync of it has failed: no later sync makes it certain. */
  hasFailed: boolean;
}

/** One atomic change of a folder; a rename inside it removes and puts at once. */
export interface EntryChange {
  readonly remove?: string;
  readonly put?: readonly [name: string, node: MemoryNode];
}

export type MemoryNode = MemoryFile | MemoryDirectory;

export class MemoryFile {
  readonly kind = 'file' as const;
  readonly inode: number;
  modifiedAt = 0;
  readonly current: MemoryBytes;
  readonly durable: MemoryBytes;
  pending: Pending<FileChange>[] = [];

  constructor(inode: number, content: MemoryBytes = new MemoryBytes()) {
    this.inode = inode;
    this.durable = content;
    this.current = content.copy();
  }

  change(sequence: number, change: FileChange): void {
    applyChange(this.current, change);
    this.pending.push({ sequence, change, hasFailed: false });
    this.modifiedAt = sequence;
  }

  sync(upTo: number, failedSyncs: PowerLoss['failedSyncs']): void {
    for (const { sequence, change, hasFailed } of this.pending) {
      if (sequence <= upTo && (!hasFailed || failedSyncs === 'kept'))
        applyChange(this.durable, change);
    }
    this.pending = this.pending.filter(({ sequence }) => sequence > upTo);
  }

  failSync(): void {
    for (const pending of this.pending) pending.hasFailed = true;
  }

  after(loss: PowerLoss, _seen?: unknown): MemoryFile {
    const changes = this.pending.map(({ change }) => change);
    return new MemoryFile(this.inode, contentAfter(this.durable, changes, loss));
  }

  copy(_seen?: unknown): MemoryFile {
    const copy = new MemoryFile(this.inode, this.durable.copy());
    for (const { sequence, change, hasFailed } of this.pending) {
      copy.change(sequence, change);
      if (hasFailed) copy.pending.splice(-1, 1, { sequence, change, hasFailed });
    }
    return copy;
  }
}

export class MemoryDirectory {
  readonly kind = 'directory' as const;
  readonly inode: number;
  modifiedAt = 0;
  readonly current: Map<string, MemoryNode>;
  readonly durable: Map<string, MemoryNode>;
  pending: Pending<EntryChange>[] = [];

  constructor(inode: number, entries: ReadonlyMap<string, MemoryNode> = new Map()) {
    this.inode = inode;
    this.current = new Map(entries);
    this.durable = new Map(entries);
  }

  change(sequence: number, change: EntryChange): void {
    applyEntry(this.current, change);
    this.pending.push({ sequence, change, hasFailed: false });
    this.modifiedAt = sequence;
  }

  sync(upTo: number): void {
    for (const { sequence, change } of this.pending) {
      if (sequence <= upTo) applyEntry(this.durable, change);
    }
    this.pending = this.pending.filter(({ sequence }) => sequence > upTo);
  }

  /** `seen` keeps a node that two names lead to one node. */
  after(loss: PowerLoss, seen: Map<MemoryNode, MemoryNode> = new Map()): MemoryDirectory {
    const entries = new Map(this.durable);
    for (const { change } of this.pending) if (keepsEntry(loss)) applyEntry(entries, change);
    const survivors = new Map<string, MemoryNode>();
    for (const [name, node] of entries) {
      const after = seen.get(node) ?? node.after(loss, seen);
      seen.set(node, after);
      survivors.set(name, after);
    }
    return new MemoryDirectory(this.inode, survivors);
  }

  copy(seen: Map<MemoryNode, MemoryNode> = new Map()): MemoryDirectory {
    const copyOf = (node: MemoryNode): MemoryNode => {
      const copy = seen.get(node) ?? node.copy(seen);
      seen.set(node, copy);
      return copy;
    };
    const durable = [...this.durable].map(([name, node]) => [name, copyOf(node)] as const);
    const copy = new MemoryDirectory(this.inode, new Map(durable));
    for (const { sequence, change } of this.pending) {
      const put =
        change.put === undefined ? undefined : ([change.put[0], copyOf(change.put[1])] as const);
      copy.change(sequence, { ...change, ...(put === undefined ? {} : { put }) });
    }
    return copy;
  }
}

function applyEntry(entries: Map<string, MemoryNode>, { remove, put }: EntryChange): void {
  if (remove !== undefined) entries.delete(remove);
  if (put !== undefined) entries.set(put[0], put[1]);
}
