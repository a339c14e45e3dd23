import { openTokenStore, scopes } from '#access';
import { assert, systemChance, systemClock, type Clock, type MillraceError } from '#base';
import type { Config, Environment } from '#config';
import { openControlDatabase, type ControlDatabase } from '#control';
import { nodeDisk, stagingNames } from '#disk';
import type { Operations, OpsContext } from '#ops';
import { bindRoot, type BoundRoot, type ChosenRoot, layoutOf } from '#roots';
import type { SharedOptions } from '../command.ts';
import { chooseRoot, loadServeConfig } from './serve-options.ts';

/**
 * Runs a verb over tokens without a daemon, under the root lock (ING-311): a listener beyond loopback does not start before there is a token,
 * so the first one has to be made while nothing runs. `unreachable` is thrown when nobody named a root and the default one is not there.
 */
export async function runTokensOffline(
  verbName: string,
  input: Readonly<Record<string, unknown>>,
  options: SharedOptions & { readonly idempotencyKey?: string },
  environment: Environment,
  unreachable: MillraceError,
): Promise<unknown> {
  const chosen = chooseRoot(options, environment);
  // Only the first token makes a root, and only where one was named.
  const mayMake = chosen.source === 'cli' && verbName === 'tokens add';
  const hasRoot = (await nodeDisk().stat(layoutOf(chosen.path).marker)) !== undefined;
  if (!hasRoot && !mayMake) throw unreachable;
  const { config } = loadServeConfig({}, environment);
  return onRootAtRest(verbName, input, { chosen, config, key: options.idempotencyKey });
}

export interface RootAtRest {
  readonly chosen: ChosenRoot;
  readonly config: Config;
  /** Names the act, so that it is done once. */
  readonly key?: string | undefined;
}

/** Runs a verb over tokens on a root that nobody serves, made where it is missing; ROOT_LOCKED beside a daemon. */
export async function onRootAtRest(
  verbName: string,
  input: Readonly<Record<string, unknown>>,
  { chosen, config, key }: RootAtRest,
): Promise<unknown> {
  const { createOperations, verbs } = await import('#ops');
  const verb = verbs.find(({ name }) => name === verbName);
  assert(verb !== undefined, `room ops has no verb "${verbName}"`);
  const [disk, clock, chance] = [nodeDisk(), systemClock, systemChance];
  const names = stagingNames(process.pid, chance);
  const keyEncoding = config['queue.key_encoding'];
  const root = await bindRoot(chosen, { disk, clock, chance, names, keyEncoding });
  const control = openOrRelease(root, clock);
  try {
    const path = config['auth.tokens_file'] ?? root.layout.tokens;
    const tokens = await openTokenStore({ disk, path, names, clock, chance });
    const operations = createOperations({ rows: control.operations, clock, chance });
    const caller = {
      principal: 'offline',
      scopes: new Set<string>(scopes),
      workspaces: undefined,
      signal: new AbortController().signal,
      ...(key === undefined ? {} : { idempotency: { key, onReplayed: () => undefined } }),
    };
    return await verb.run(onlyTokens(tokens, operations), input as never, caller);
  } finally {
    control.close();
    root.lock.release();
  }
}

/** The control database keeps the audit, of acts without a daemon too. */
function openOrRelease(root: BoundRoot, clock: Clock): ControlDatabase {
  try {
    return openControlDatabase(root.layout.controlDatabase, { clock });
  } catch (error) {
    root.lock.release();
    throw error;
  }
}

/** What a verb over tokens uses; everything else needs the daemon. */
function onlyTokens(tokens: OpsContext['tokens'], operations: Operations): OpsContext {
  const absent = (): never => {
    throw new TypeError('a verb over tokens uses nothing but the tokens');
  };
  return {
    tokens,
    operations,
    clock: systemClock,
    startedMs: 0,
    limits: {},
    get settings() {
      return absent();
    },
    get queue() {
      return absent();
    },
    get ledger() {
      return absent();
    },
    get compaction() {
      return absent();
    },
    get graph() {
      return absent();
    },
    get objects() {
      return absent();
    },
    get drain() {
      return absent();
    },
    removal: undefined,
    repair: undefined,
    get retention() {
      return absent();
    },
    get deadLetters() {
      return absent();
    },
    get feed() {
      return absent();
    },
    get jobs() {
      return absent();
    },
    get versions() {
      return absent();
    },
    journalLagBytes: absent,
    adopt: absent,
    backup: absent,
    state: absent,
    degraded: absent,
    disk: absent,
    storage: absent,
    vacuum: absent,
  };
}
