import { Value } from 'typebox/value';
import { openTokenStore } from '#access';
import { openControlDatabase } from '#control';
import { memoryDisk, stagingNames } from '#disk';
import { verbs, type Caller, type OpsContext, type Verb } from '#ops';
import { createRetention } from '#keeping';
import type { Key } from '#record';
import { createDesk } from '../../src/daemon/desk/create-desk.ts';
import { openDrain, type DrainFixture, type FixtureOptions } from '../drain/drain-fixture.ts';
import { adoptNothing, fixedDesk, saveNothing } from './quiet-acts.ts';
import { seededChance } from '../support/chance.ts';

export const operator: Caller = {
  principal: 'operator',
  scopes: new Set(['ingest:write', 'ingest:read', 'ops:read', 'ops:write']),
  workspaces: undefined,
  signal: new AbortController().signal,
};

export const stranger: Caller = {
  ...operator,
  principal: 'anonymous',
  scopes: new Set(),
  workspaces: [],
};

export interface OpsFixture extends DrainFixture {
  readonly context: OpsContext;
  /** Runs a verb; fails unless its input fits its schema and its output too. */
  call(name: string, input?: Readonly<Record<string, unknown>>, caller?: Caller): Promise<Row>;
  /** Names of the verbs whose output was checked. */
  readonly called: ReadonlySet<string>;
}

export type Row = Readonly<Record<string, unknown>>;

export function verbOf(name: string): Verb {
  const verb = verbs.find((one) => one.name === name);
  if (verb === undefined) throw new Error(`there is no verb "${name}"`);
  return verb;
}

const called = new Set<string>();

/**
 * Verbs over damaged logs: on a queue of log files, in quarantine-verbs.test.ts; Cypher: in cypher.test.ts; what readers of the graph ask: in
 * reading-verbs.test.ts; settings: in config-verbs.test.ts; dead letters, jobs and audit: in dead-verbs.test.ts.
 */
export const others: readonly string[] = verbs
  .map(({ name }) => name)
  .filter((name) =>
    /^quarantine |^queue |^config |^sessions (delete|prune)$|^retention |^dead |^jobs |^audit |^stream$|cypher$|^queries |^blobs |^objects |^whoami$|neighbours$|summary$/.test(
      name,
    ),
  );
export async function openOps(
  options: FixtureOptions & { readonly context?: Partial<OpsContext> } = {},
): Promise<OpsFixture> {
  const fixture = openDrain(options);
  const { queue, graph, drain, clock } = fixture;
  const disk = memoryDisk({ directories: ['/'] });
  const chance = seededChance(7);
  const tokens = await openTokenStore({
    disk,
    path: '/tokens.json',
    names: stagingNames(1, chance),
    clock,
    chance,
  });
  const control = openControlDatabase(':memory:', { clock });
  const wake = (key: Key): void => drain.wake(key);
  const desk = createDesk({ queue, clock, chance, control, wake });
  const context: OpsContext = {
    queue,
    ledger: queue,
    compaction: undefined,
    graph,
    objects: {
      ...control.expiredObjects,
      read: async (sha256) => fixture.world.objects.get(sha256),
    },
    drain,
    ...desk,
    tokens,
    removal: undefined,
    retention: createRetention({
      shelves: [],
      ruleOf: () => ({ maxAgeMs: null, maxBytes: null }),
      notices: control.notices,
      clock,
      held: () => undefined,
      onTaken: () => undefined,
    }),
    repair: undefined,
    clock,
    startedMs: clock.monotonic(),
    versions: {
      product: '0.1.0',
      protocol: queue.protocolVersion,
      offsetRecord: 2,
      cursorSchema: 1,
      controlSchema: 1,
    },
    settings: fixedDesk,
    limits: { 'queue.max_bytes': 1000, 'dedup.retention': 'none' },
    journalLagBytes: () => 0,
    adopt: adoptNothing,
    backup: saveNothing,
    state: () => 'ready',
    degraded: () => [],
    disk: async () => ({ path: '/root', freeBytes: 10, totalBytes: 20 }),
    storage: () => ({
      bytes: { queue: 1, graph: 2, state: 3, control: 4, objects: 5 },
      measuredAt: '2026-06-01T00:00:00.000Z',
    }),
    vacuum: () => Promise.resolve([{ name: 'graph', before: 9, after: 4 }]),
    ...options.context,
  };
  return {
    ...fixture,
    context,
    called,
    async call(name, input = {}, caller = operator) {
      const verb = verbOf(name);
      if (!Value.Check(verb.input, input))
        throw new Error(`input of ${name}: ${JSON.stringify(Value.Errors(verb.input, input))}`);
      const output = await verb.run(context, input, caller);
      if (verb.output.kind === 'stream') {
        called.add(name);
        const chunks = await Array.fromAsync(output as AsyncIterable<Uint8Array>);
        return { text: Buffer.concat(chunks).toString() };
      }
      const sent: unknown = JSON.parse(JSON.stringify(output));
      if (!Value.Check(verb.output.schema, sent))
        throw new Error(
          `output of ${name}: ${JSON.stringify(Value.Errors(verb.output.schema, sent))}`,
        );
      called.add(name);
      return sent as Row;
    },
  };
}
