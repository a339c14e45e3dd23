import type { Chance, Clock } from '#base';
import type { Disk, StagingNames } from '#disk';
import { evidenceKept } from '#signals';

export interface EvidenceOptions {
  readonly disk: Disk;
  readonly names: StagingNames;
  readonly clock: Clock;
  readonly chance: Chance;
}

const copyBytes = 1024 * 1024;

/** `<utc>.<rand>`: no two pieces of evidence share a name (ING-409). */
export function evidenceSuffix({ clock, chance }: EvidenceOptions): string {
  const utc = new Date(clock.now()).toISOString().replace(/[-:.]/g, '');
  return `${utc}.${Buffer.from(chance.bytes(4)).toString('hex')}`;
}

/** Copies a file, or its bytes from `from` on, beside itself as `<path>.<kind>.<utc>.<rand>`; durable when it resolves. Undefined without a file. */
export async function keepCopy(
  options: EvidenceOptions,
  path: string,
  kind: 'corrupt' | 'torn' | 'replaced',
  reason: string,
  from = 0,
): Promise<string | undefined> {
  const { disk } = options;
  if ((await disk.stat(path)) === undefined) return undefined;
  const target = `${path}.${kind}.${evidenceSuffix(options)}`;
  const source = await disk.open(path, 'read');
  try {
    const copy = await disk.open(target, 'create');
    try {
      const buffer = Buffer.allocUnsafe(copyBytes);
      for (let at = from; ;) {
        const count = await source.readAt(buffer, at);
        if (count === 0) break;
        await copy.writeAt([buffer.subarray(0, count)], at - from);
        at += count;
      }
      await copy.sync();
    } finally {
      await copy.close();
    }
  } finally {
    await source.close();
  }
  await disk.syncDirectory(target.slice(0, target.lastIndexOf('/')));
  evidenceKept.publish(() => ({ path: target, reason }));
  return target;
}
