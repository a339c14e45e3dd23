import { isMillraceError, messageOf, type MillraceError } from '#base';
import { checkMutations, type Mutation } from '#graph';
import { HANDLER_FAILED, type FoldContext, type Folded } from '#handlers';
import { parseLine, type Cursor, type LogRecord } from '#record';
import type { Letter } from './dead-letters.ts';

/** How a record is folded; `fold` of room handlers, or a test's own. */
export type PreviewFold = (cursor: Cursor, record: LogRecord, context: FoldContext) => Folded;

export interface NodePreview {
  readonly id: string;
  readonly labels: readonly string[];
  /** Names of the properties that would be written. */
  readonly properties: readonly string[];
}

export interface EdgePreview {
  readonly from: string;
  readonly type: string;
  readonly to: string;
}

/** What a requeue of one letter would do, folded from the session's committed cursor and not applied. */
export interface Preview {
  readonly id: string;
  /**
   * `applies`: it folds now; `dies`: it would become a dead letter again, with `error`; `refused`: it cannot be requeued, `error` says why.
   */
  readonly outcome: 'applies' | 'dies' | 'refused';
  /** It would die of what it died of before. */
  readonly isSameError: boolean;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly nodes: readonly NodePreview[];
  readonly edges: readonly EdgePreview[];
  readonly removedEdges: readonly EdgePreview[];
  /** Hidden facts from which the store derives labels and edges. */
  readonly facts: number;
  /** The store refused it before: only an attempt can tell whether it still does. */
  readonly isUpToStore: boolean;
}

const nothing = { nodes: [], edges: [], removedEdges: [], facts: 0, isUpToStore: false } as const;
/** Reasons that a fold gives; any other came from the store. */
const foldCodes: ReadonlySet<string> = new Set(['EVENT_CONTRADICTS', 'HANDLER_FAILED']);

export function previewRefused(letter: Pick<Letter, 'id'>, error: MillraceError): Preview {
  const { code, message } = error;
  return {
    ...nothing,
    id: letter.id,
    outcome: 'refused',
    isSameError: false,
    error: { code, message },
  };
}

/** Folds one payload from a cursor; returns the cursor behind it, which is the one before where it would die. Pure. */
export function previewFold(
  letter: Letter,
  raw: Uint8Array,
  cursor: Cursor,
  rules: { readonly fold: PreviewFold; readonly spillBytes: number },
): { readonly preview: Preview; readonly cursor: Cursor } {
  const { id, key, error: before } = letter;
  const { record, fault } = parseLine(raw, key);
  if (record === undefined) {
    const error = { code: 'RECORD_CORRUPT', message: fault };
    return { preview: { ...nothing, id, outcome: 'dies', isSameError: false, error }, cursor };
  }
  try {
    const folded = rules.fold(cursor, record, { spillBytes: rules.spillBytes });
    checkMutations(record.session, folded.mutations);
    const isUpToStore = !foldCodes.has(before.code) && !before.code.startsWith('LEGACY');
    const preview: Preview = {
      id,
      outcome: 'applies',
      isSameError: false,
      error: null,
      ...changesOf(folded.mutations),
      isUpToStore,
    };
    return { preview, cursor: folded.cursor };
  } catch (thrown) {
    const error = poisonOf(thrown, record);
    const isSameError = error.code === before.code && error.message === before.message;
    return {
      preview: { ...nothing, id, outcome: 'dies', isSameError, error },
      cursor,
    };
  }
}

function poisonOf(thrown: unknown, { event, session }: LogRecord): MillraceError {
  if (isMillraceError(thrown) && thrown.disposition === 'poison') return thrown;
  return HANDLER_FAILED({ event, session, reason: messageOf(thrown) }, thrown);
}

function changesOf(
  mutations: readonly Mutation[],
): Pick<Preview, 'nodes' | 'edges' | 'removedEdges' | 'facts'> {
  const nodes: NodePreview[] = [];
  const edges: EdgePreview[] = [];
  const removedEdges: EdgePreview[] = [];
  let facts = 0;
  for (const mutation of mutations) {
    if (mutation.kind === 'node') {
      const { id, labels, properties } = mutation;
      nodes.push({ id, labels, properties: Object.keys(properties) });
    } else if (mutation.kind === 'stub')
      nodes.push({ id: mutation.id, labels: mutation.labels, properties: [] });
    else if (mutation.kind === 'concept')
      nodes.push({ id: mutation.name, labels: [mutation.concept], properties: [] });
    else if (mutation.kind === 'edge')
      edges.push({ from: mutation.from.id, type: mutation.type, to: mutation.to.id });
    else if (mutation.kind === 'remove-edge')
      removedEdges.push({ from: mutation.from, type: mutation.type, to: mutation.to });
    else facts += 1;
  }
  return { nodes, edges, removedEdges, facts };
}
