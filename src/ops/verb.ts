import { Type, type Static, type TSchema } from 'typebox';
import type { OpsContext } from './ops-context.ts';

/** Scopes of this area (ING-016). */
export type VerbScope = 'ingest:write' | 'ingest:read' | 'ops:read' | 'ops:write';

/** Who calls a verb, as the door that took the call has found out. */
export interface Caller {
  /** Authenticated name; `anonymous` where none is needed. */
  readonly principal: string;
  readonly scopes: ReadonlySet<string>;
  /** Workspaces that the caller may use; undefined means all. */
  readonly workspaces: readonly string[] | undefined;
  /** Aborted when the caller has gone or the daemon stops; only reads and waits heed it (ING-917). */
  readonly signal: AbortSignal;
  /** `Last-Event-ID` of a request for a stream that was broken off. */
  readonly lastEventId?: string;
  /** `Idempotency-Key` of the request; verbs that only read have no use for it. */
  readonly idempotency?: {
    readonly key: string;
    /** The answer is that of an earlier run. */
    onReplayed(): void;
  };
}

export interface VerbHttp {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With `{name}` for members of the input that stand in the path; the rest is query (GET, DELETE) or JSON body. */
  readonly path: string;
  /** Status of success; 200 where it is not given. */
  readonly status?: 200 | 202;
  /** The same verb under further paths. */
  readonly aliases?: readonly {
    readonly method: 'GET' | 'POST' | 'DELETE';
    readonly path: string;
  }[];
}

/** JSON by a schema, or bytes that are sent as they come. */
export type VerbOutput<O extends TSchema> =
  | { readonly kind: 'json'; readonly schema: O }
  | { readonly kind: 'stream'; readonly mediaType: string };

export type VerbResult<O extends TSchema> = Static<O> | AsyncIterable<Uint8Array>;

/** One operator verb, once: HTTP, CLI and later doors are views of it. */
export interface Verb<I extends TSchema = TSchema, O extends TSchema = TSchema> {
  /** As it is typed on the command line: `sessions list`. */
  readonly name: string;
  readonly summary: string;
  readonly effect: 'read' | 'write' | 'destroy';
  /** Null: no scope is needed. */
  readonly scope: VerbScope | null;
  readonly input: I;
  readonly output: VerbOutput<O>;
  readonly http: VerbHttp;
  run(context: OpsContext, input: Static<I>, caller: Caller): Promise<VerbResult<O>>;
}

interface VerbWords {
  readonly name: string;
  readonly summary: string;
  readonly scope: VerbScope | null;
  readonly http: VerbHttp;
}

/** What a run of a verb that changes something is given beside its caller. */
export interface Actor extends Caller {
  /** Id of the act in the audit; the same in each run under one `Idempotency-Key` (C25). Empty for a read. */
  readonly operationId: string;
}

/**
 * A verb with the types of its own schemas checked. One that is no read runs as an operation: it takes an `Idempotency-Key`, its answer has
 * `operation_id`, and each run is in the audit, done or refused (ING-014, ING-916).
 */
export function defineVerb<I extends TSchema, O extends TSchema>(
  verb: VerbWords & {
    readonly effect: 'read' | 'write' | 'destroy';
    readonly input: I;
    readonly output: O;
    /** How many things a run touched, for the audit. */
    readonly countOf?: (output: Static<O>) => number;
    /** Members of the input that the audit keeps as digests only: payloads. */
    readonly hiddenInput?: readonly string[];
    /** The answer holds a secret, so no record keeps it (ING-018). */
    readonly isAnswerSecret?: boolean;
    run(context: OpsContext, input: Static<I>, actor: Actor): Promise<Static<O>>;
  },
): Verb {
  const { output, countOf, hiddenInput, isAnswerSecret, ...rest } = verb;
  if (verb.effect === 'read')
    return { ...rest, output: { kind: 'json', schema: output } } as unknown as Verb;
  const traits = {
    ...(countOf === undefined ? {} : { countOf }),
    ...(hiddenInput === undefined ? {} : { hiddenInput }),
    ...(isAnswerSecret === undefined ? {} : { isAnswerSecret }),
  };
  const schema = Type.Intersect([output, Type.Object({ operation_id: Type.String() })]);
  const run: Run<Static<I>, unknown> = async (context, input, caller) => {
    const { operations } = context;
    const { operationId, answer, isReplayed } = await operations.run<Static<O>>({
      verb: verb.name,
      principal: caller.principal,
      input: input as Readonly<Record<string, unknown>>,
      key: caller.idempotency?.key,
      signal: caller.signal,
      ...traits,
      run: (operationId) => verb.run(context, input, { ...caller, operationId }),
    });
    if (isReplayed) caller.idempotency?.onReplayed();
    return { ...(answer as object), operation_id: operationId };
  };
  return { ...rest, output: { kind: 'json', schema }, run } as unknown as Verb;
}

/** A verb whose answer is a stream of bytes; one that is no read runs its act as an operation by itself. */
export function defineStreamVerb<I extends TSchema>(
  verb: VerbWords & {
    readonly effect: 'read' | 'write';
    readonly input: I;
    readonly mediaType: string;
    run(context: OpsContext, input: Static<I>, caller: Caller): Promise<AsyncIterable<Uint8Array>>;
  },
): Verb {
  const { mediaType, ...rest } = verb;
  return { ...rest, output: { kind: 'stream', mediaType } } as unknown as Verb;
}

type Run<I, O> = (context: OpsContext, input: I, caller: Caller) => Promise<O>;
