import { copyGraph, graphCopyFailed, type CopyTold, type GraphDigest } from '#graph';
import { openCopyEnds } from '../assemble.ts';
import type { DaemonOptions } from '../daemon.ts';
import { workOffline } from './offline.ts';

export interface CopyGraphOptions extends DaemonOptions {
  readonly to: 'embedded' | 'neo4j';
  readonly tell: (told: CopyTold) => void;
}

/**
 * Copies the graph of a root that no daemon serves into the other store (ING-542). The root is held meanwhile, and nothing is drained; which store is used is a
 * matter of `graph.store` at the next start. Interrupted, it is run again and goes on.
 */
export function copyRootGraph({ to, tell, ...options }: CopyGraphOptions): Promise<GraphDigest> {
  return workOffline({ ...options, isDrained: false }, async ({ ground, root }) => {
    const { config } = options.loaded;
    if (config['graph.store'] === to)
      throw graphCopyFailed({
        reason: `graph.store is ${to} already: it names the store that is copied from, and is changed afterwards`,
      });
    const ends = await openCopyEnds({ ...ground, config, layout: root.layout }, to);
    let digest: GraphDigest;
    try {
      digest = await copyGraph(ends.source, ends.target, tell);
    } finally {
      await ends.source.close();
      await ends.target.close();
    }
    await ends.seal();
    return digest;
  });
}
