import { digestOf, exportChunks } from '../../src/graph/embedded/export-lines.ts';
import { GraphWriter } from '../../src/graph/embedded/graph-writer.ts';
import { openForWriting } from '../../src/graph/embedded/open-database.ts';
import type { FenceMark } from '../../src/graph/fence-mark.ts';
import { namedUntil } from '../../src/graph/embedded/object-references.ts';
import { usedBytes } from '../../src/graph/embedded/used-bytes.ts';
import type { GroupPart, SessionSurvey } from '#graph';
import type { Key } from '#record';
import { spillBytes } from '../support/graph-fixtures.ts';

const fence: FenceMark = { domain: 'daemon:SR-test', generation: 1, holder: 'holder-1' };

/** The embedded store's own writer without its thread, on a database in memory: a thousand graphs are cheap. */
export interface InProcessGraph {
  apply(group: readonly GroupPart[]): void;
  /** Sets the rows of these keys back to the start, as after `graph adopt` of an emptied row table. */
  forgetRows(keys: Iterable<Key>): void;
  /** Takes the sessions of these parts out again; the number of nodes that went. */
  remove(parts: readonly Pick<GroupPart, 'key' | 'workspace' | 'session'>[]): number;
  descendants(workspace: string, session: string): readonly string[];
  survey(workspace: string, session: string): SessionSurvey;
  namedUntil(objects: readonly string[]): ReadonlyMap<string, string>;
  usedBytes(): number;
  digest(): string;
  export(): string;
  execute(sql: string): void;
  close(): void;
}

export function openInProcessGraph(path = ':memory:'): InProcessGraph {
  const walBytesMax = 2 ** 24;
  const start = {
    path,
    newGraphId: 'graph',
    newSpillBytes: spillBytes,
    lockWaitMs: 0,
    walBytesMax,
    check: 'quick',
  } as const;
  const { database } = openForWriting(start);
  const writer = new GraphWriter(database);
  return {
    apply: (group) => writer.apply(fence, 'root', group),
    forgetRows: (keys) =>
      writer.adopt(
        fence,
        [...keys].map((key) => [key, null]),
      ),
    remove: (parts) => writer.remove(fence, parts).nodes,
    descendants: (workspace, session) => writer.descendants(workspace, session),
    survey: (workspace, session) => writer.survey(workspace, session),
    namedUntil: (objects) => namedUntil(database, objects),
    usedBytes: () => usedBytes(database),
    digest: () => digestOf(database).digest,
    export: () => [...exportChunks(database)].join(''),
    execute: (sql) => database.exec(sql),
    close: () => writer.close(),
  };
}
