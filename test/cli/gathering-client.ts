import type { Client } from '../../src/cli/client.ts';
import { daemonUnreachable } from '../../src/cli/errors.ts';

/** A daemon that takes everything: what it was sent stands in `bodies`. Ids that it knows are duplicates. */
export interface GatheringClient extends Client {
  readonly bodies: string[];
  /** Requests are refused as by a daemon that is not there. */
  isAway: boolean;
}

export function gatheringClient(): GatheringClient {
  const bodies: string[] = [];
  const known = new Set<string>();
  const client: GatheringClient = {
    url: 'http://gathering',
    bodies,
    isAway: false,
    call: () => Promise.resolve(undefined),
    stream: () => Promise.reject(new Error('not asked')),
    send(_method, _path, payload) {
      if (client.isAway)
        return Promise.reject(daemonUnreachable({ url: client.url, reason: 'away' }));
      const lines = Buffer.from(payload ?? [])
        .toString('utf8')
        .split('\n');
      const results = lines.map((line) => {
        const { event_id: id } = JSON.parse(line) as { readonly event_id?: string };
        const isKnown = id !== undefined && known.has(id);
        if (id !== undefined) known.add(id);
        if (!isKnown) bodies.push(line);
        return { status: isKnown ? 'duplicate' : 'queued' };
      });
      return Promise.resolve(new Response(JSON.stringify({ results }), { status: 202 }));
    },
  };
  return client;
}
