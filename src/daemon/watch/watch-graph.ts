import { isMillraceError, messageOf, type Clock } from '#base';
import type { GraphStore } from '#graph';
import type { Degradation } from '#ops';
import { repeat } from '../repeat.ts';

const everyMs = 5_000;

export interface GraphWatch {
  /** Not empty while the graph does not answer, also when there is nothing to write to it. */
  degraded(): readonly Degradation[];
  end(): void;
}

/** Asks a graph in a server again and again whether it is there: a read that finds nothing, so that an idle database stays idle (ING-536). */
export function watchGraph(clock: Clock, graph: Pick<GraphStore, 'rows'>): GraphWatch {
  let trouble: Degradation | undefined;
  const look = async (): Promise<void> => {
    try {
      await graph.rows({ keys: [] });
      trouble = undefined;
    } catch (error) {
      const code = isMillraceError(error) ? error.code : 'GRAPH_UNAVAILABLE';
      const since = trouble?.since ?? new Date(clock.now()).toISOString();
      trouble = { code, message: messageOf(error), since };
    }
  };
  void look();
  return {
    degraded: () => (trouble === undefined ? [] : [trouble]),
    end: repeat(clock, everyMs, look),
  };
}
