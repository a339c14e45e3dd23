import type { Static, TSchema } from 'typebox';
import { isMillraceError } from '#base';
import { opsAudited } from '#signals';
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

/** A verb with the types of its own schemas checked. One that is no read tells the audit channel of each run, done or refused. */
export function defineVerb<I extends TSchema, O extends TSchema>(
  verb: VerbWords & {
    readonly effect: 'read' | 'write' | 'destroy';
    readonly input: I;
    readonly output: O;
    /** How many things a run touched, for the audit. */
    readonly countOf?: (output: Static<O>) => number;
    run(context: OpsContext, input: Static<I>, caller: Caller): Promise<Static<O>>;
  },
): Verb {
  const { output, countOf, ...rest } = verb;
  const run = verb.effect === 'read' ? verb.run : audited(verb.name, verb.run, countOf);
  return { ...rest, output: { kind: 'json', schema: output }, run } as unknown as Verb;
}

/** A verb whose answer is a stream of bytes. */
export function defineStreamVerb<I extends TSchema>(
  verb: VerbWords & {
    readonly effect: 'read';
    readonly input: I;
    readonly mediaType: string;
    run(context: OpsContext, input: Static<I>, caller: Caller): Promise<AsyncIterable<Uint8Array>>;
  },
): Verb {
  const { mediaType, ...rest } = verb;
  return { ...rest, output: { kind: 'stream', mediaType } } as unknown as Verb;
}

type Run<I, O> = (context: OpsContext, input: I, caller: Caller) => Promise<O>;

function audited<I, O>(
  verb: string,
  run: Run<I, O>,
  countOf: ((output: O) => number) | undefined,
): Run<I, O> {
  return async (context, input, caller) => {
    const tell = (outcome: string, count: number | null): void =>
      opsAudited.publish(() => ({
        verb,
        principal: caller.principal,
        input: { ...(input as Readonly<Record<string, unknown>>) },
        outcome,
        count,
      }));
    try {
      const output = await run(context, input, caller);
      tell('done', countOf?.(output) ?? null);
      return output;
    } catch (error) {
      tell(isMillraceError(error) ? error.code : 'BUG', null);
      throw error;
    }
  };
}
