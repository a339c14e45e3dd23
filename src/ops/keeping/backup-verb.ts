import { Type } from 'typebox';
import type { BackupProgress, Manifest } from '#backup';
import { isMillraceError, messageOf } from '#base';
import type { OpsContext } from '../ops-context.ts';
import { requireAllWorkspaces } from '../sessions/session-lookup.ts';
import { type Caller, type Verb, defineStreamVerb } from '../verb.ts';

/** How often at most progress is told. */
const tellEveryMs = 500;

/** What a backup is, for people and programs: its manifest without the list of files. */
export interface BackupSummary {
  readonly path: string;
  readonly backup_id: string;
  readonly created_at: string;
  readonly root_id: string;
  readonly files: number;
  readonly bytes: number;
  readonly books: Manifest['books'];
  readonly graph: {
    readonly graph_id: string;
    readonly digest: string;
    readonly nodes: number;
    readonly edges: number;
  };
}

export function summaryOf(path: string, manifest: Manifest): BackupSummary {
  const { backupId, createdAt, rootId, files, books, graph } = manifest;
  return {
    path,
    backup_id: backupId,
    created_at: createdAt,
    root_id: rootId,
    files: files.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    books,
    graph: {
      graph_id: graph.graphId,
      digest: graph.digest,
      nodes: graph.nodes,
      edges: graph.edges,
    },
  };
}

/** One line of the answer: how far it is, and at the end what came of it. */
export type BackupLine =
  | { readonly progress: BackupProgress }
  | { readonly done: BackupSummary & { readonly operation_id: string } }
  | {
      readonly error: {
        readonly code: string;
        readonly message: string;
        readonly details: unknown;
      };
    };

export const backupCreateVerb: Verb = defineStreamVerb({
  name: 'backup create',
  summary: 'saves the whole root as it is at one instant, while it goes on: NDJSON of its progress',
  effect: 'write',
  scope: 'ops:write',
  input: Type.Object(
    { path: Type.String({ minLength: 1, maxLength: 4096 }) },
    { additionalProperties: false },
  ),
  mediaType: 'application/x-ndjson',
  http: { method: 'POST', path: '/v1/backups' },
  run(context, input, caller) {
    requireAllWorkspaces(caller, 'a backup');
    return Promise.resolve(linesOf(context, input.path, caller));
  },
});

/** Ends with `done` or `error`; who stops reading ends the backup. */
async function* linesOf(
  context: OpsContext,
  path: string,
  caller: Caller,
): AsyncGenerator<Uint8Array> {
  const left = new AbortController();
  const signal = AbortSignal.any([caller.signal, left.signal]);
  let progress: BackupProgress = { step: 'waiting for an instant', files: 0, bytes: 0 };
  const running = endOf(context, path, caller.principal, signal, (next) => {
    progress = next;
  });
  try {
    for (;;) {
      yield lineOf({ progress });
      const pause = new AbortController();
      const tick = context.clock.sleep(tellEveryMs, pause.signal).catch(() => undefined);
      const end = await Promise.race([running, tick.then(() => undefined)]);
      pause.abort();
      if (end === undefined) continue;
      yield lineOf(end);
      return;
    }
  } finally {
    left.abort();
    await running;
  }
}

async function endOf(
  context: OpsContext,
  path: string,
  principal: string,
  signal: AbortSignal,
  tell: (progress: BackupProgress) => void,
): Promise<BackupLine> {
  try {
    const { answer, operationId } = await context.operations.run({
      verb: 'backup create',
      principal,
      input: { path },
      key: undefined,
      signal,
      countOf: ({ files }: BackupSummary) => files,
      async run() {
        const made = await context.backup({ path, signal, tell });
        return summaryOf(made.path, made.manifest);
      },
    });
    return { done: { ...answer, operation_id: operationId } };
  } catch (error) {
    const isKnown = isMillraceError(error);
    const [code, details] = isKnown ? [error.code, error.details] : ['BACKUP_FAILED', {}];
    return { error: { code, message: messageOf(error), details } };
  }
}

function lineOf(line: BackupLine): Uint8Array {
  return Buffer.from(`${JSON.stringify(line)}\n`, 'utf8');
}
