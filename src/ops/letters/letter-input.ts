import {
  Type,
  type TArray,
  type TOptional,
  type TString,
  type TInteger,
  type TUnsafe,
} from 'typebox';
import type { Letter, LetterFilter, LetterPage, Preview } from '#dead-letters';
import { parseKey } from '#record';
import { keyUnknown } from '../errors.ts';
import type { Caller } from '../verb.ts';

/** A letter as every verb shows it. */
export interface LetterRow {
  id: string;
  key: string;
  workspace: string;
  session_id: string;
  event: string | null;
  event_id: string | null;
  position: string;
  epoch: string;
  ts: string;
  sha256: string;
  attempts: number;
  error: { code: string; message: string };
  state: 'live' | 'requeued' | 'discarded';
  retired: boolean;
  bytes: number;
}

export const letterRow: TUnsafe<LetterRow> = Type.Unsafe<LetterRow>(
  Type.Object({
    id: Type.String(),
    key: Type.String(),
    workspace: Type.String(),
    session_id: Type.String(),
    event: Type.Union([Type.String(), Type.Null()]),
    event_id: Type.Union([Type.String(), Type.Null()]),
    position: Type.String(),
    epoch: Type.String(),
    ts: Type.String(),
    sha256: Type.String(),
    attempts: Type.Integer(),
    error: Type.Object({ code: Type.String(), message: Type.String() }),
    state: Type.Union([Type.Literal('live'), Type.Literal('requeued'), Type.Literal('discarded')]),
    retired: Type.Boolean(),
    bytes: Type.Integer(),
  }),
);

export function rowOf(letter: Letter): LetterRow {
  return {
    id: letter.id,
    key: letter.key as string,
    workspace: letter.workspace,
    session_id: letter.session,
    event: letter.event ?? null,
    event_id: letter.eventId ?? null,
    position: letter.at as string,
    epoch: letter.epoch,
    ts: letter.ts,
    sha256: letter.sha256,
    attempts: letter.attempts,
    error: { code: letter.error.code, message: letter.error.message },
    state: letter.outcome.kind,
    retired: letter.isRetired,
    bytes: letter.payload.length,
  };
}

export interface LetterRows {
  dead_letters: LetterRow[];
  next_page_token?: string;
}

export const letterPage: TUnsafe<LetterRows> = Type.Unsafe<LetterRows>(
  Type.Object({
    dead_letters: Type.Array(letterRow),
    next_page_token: Type.Optional(Type.String()),
  }),
);

export function pageOf({ letters, nextPageToken }: LetterPage): LetterRows {
  return {
    dead_letters: letters.map(rowOf),
    ...(nextPageToken === undefined ? {} : { next_page_token: nextPageToken }),
  };
}

export const pageMembers: {
  readonly limit: TOptional<TInteger>;
  readonly page_token: TOptional<TString>;
} = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  page_token: Type.Optional(Type.String({ maxLength: 1024 })),
};

export function placeOf(input: { readonly limit?: number; readonly page_token?: string }): {
  readonly limit: number;
  readonly pageToken?: string;
} {
  return {
    limit: input.limit ?? 100,
    ...(input.page_token === undefined ? {} : { pageToken: input.page_token }),
  };
}

const time = { pattern: '^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+(Z|[+-]\\d\\d:\\d\\d)$' };

type FilterMember =
  | 'key'
  | 'session'
  | 'workspace'
  | 'code'
  | 'group'
  | 'event'
  | 'since'
  | 'until';

export const filterMembers: Readonly<Record<FilterMember, TOptional<TString>>> = {
  key: Type.Optional(Type.String()),
  session: Type.Optional(Type.String()),
  workspace: Type.Optional(Type.String()),
  code: Type.Optional(Type.String()),
  group: Type.Optional(Type.String({ maxLength: 64 })),
  event: Type.Optional(Type.String()),
  since: Type.Optional(Type.String(time)),
  until: Type.Optional(Type.String(time)),
};

/** A filter in a body may name letters one by one. */
export const selectionMembers: Readonly<Record<FilterMember | 'id', TOptional<TString>>> & {
  readonly ids: TOptional<TArray<TString>>;
} = {
  ...filterMembers,
  id: Type.Optional(Type.String()),
  ids: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 1000 })),
};

export interface FilterInput {
  readonly id?: string;
  readonly ids?: readonly string[];
  readonly key?: string;
  readonly session?: string;
  readonly workspace?: string;
  readonly code?: string;
  readonly group?: string;
  readonly event?: string;
  readonly since?: string;
  readonly until?: string;
  readonly retired?: boolean;
}

export function filterOf(input: FilterInput, caller: Caller): LetterFilter {
  const { id, ids, key: keyText, session, workspace, code, group, event, since, until } = input;
  const key = keyText === undefined ? undefined : parseKey(keyText);
  if (keyText !== undefined && key === undefined) throw keyUnknown({ key: keyText });
  const named = id === undefined ? ids : [...(ids ?? []), id];
  const members = { ids: named, key, session, workspace, code, group, event, since, until };
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(given) as LetterFilter),
    ...(input.retired === undefined ? {} : { withRetired: input.retired }),
    ...(caller.workspaces === undefined ? {} : { visibleWorkspaces: caller.workspaces }),
  };
}

const edgeRow = Type.Object({ from: Type.String(), type: Type.String(), to: Type.String() });

interface EdgeRow {
  from: string;
  type: string;
  to: string;
}

export interface PreviewRow {
  id: string;
  outcome: 'applies' | 'dies' | 'refused';
  /** It would die of what it died of before. */
  same_error: boolean;
  /** The store refused it before: only an attempt can tell whether it still does. */
  up_to_store: boolean;
  error: { code: string; message: string } | null;
  nodes: { id: string; labels: string[]; properties: string[] }[];
  edges: EdgeRow[];
  removed_edges: EdgeRow[];
  facts: number;
}

export const previewRow: TUnsafe<PreviewRow> = Type.Unsafe<PreviewRow>(
  Type.Object({
    id: Type.String(),
    outcome: Type.Union([Type.Literal('applies'), Type.Literal('dies'), Type.Literal('refused')]),
    same_error: Type.Boolean(),
    up_to_store: Type.Boolean(),
    error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()]),
    nodes: Type.Array(
      Type.Object({
        id: Type.String(),
        labels: Type.Array(Type.String()),
        properties: Type.Array(Type.String()),
      }),
    ),
    edges: Type.Array(edgeRow),
    removed_edges: Type.Array(edgeRow),
    facts: Type.Integer(),
  }),
);

export function previewOf(preview: Preview): PreviewRow {
  const { id, outcome, error, nodes, edges, facts, ...rest } = preview;
  return {
    id,
    outcome,
    same_error: rest.isSameError,
    up_to_store: rest.isUpToStore,
    error: error === null ? null : { code: error.code, message: error.message },
    nodes: nodes.map((node) => ({
      id: node.id,
      labels: [...node.labels],
      properties: [...node.properties],
    })),
    edges: edges.map((edge) => ({ ...edge })),
    removed_edges: rest.removedEdges.map((edge) => ({ ...edge })),
    facts,
  };
}
