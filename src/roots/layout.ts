import { join } from 'node:path';

/** Where everything of a root lies (storage-roots.md §3.2, layout 1). */
export interface RootLayout {
  readonly root: string;
  readonly marker: string;
  readonly maintenance: string;
  readonly lock: string;
  /** There while a restore is at work, or was interrupted: nobody binds the folder (FEN-707). */
  readonly restoreJournal: string;
  /** What a stop in order left, for the next bind. */
  readonly closingNote: string;
  readonly queue: string;
  readonly graph: string;
  /** SQLite; beside it what SQLite keeps while it is open. */
  readonly graphDatabase: string;
  readonly control: string;
  readonly controlDatabase: string;
  /** LMDB environment of the daemon's own fence domain. */
  readonly state: string;
  /** The local object store; each namespace is a folder in it. */
  readonly objects: string;
  readonly tokens: string;
  /** Written while a daemon serves: url, pid, started (D29). */
  readonly daemonFile: string;
  /** Which session each OTLP trace of late belongs to. */
  readonly traces: string;
}

export const layoutVersion = 1;

export function layoutOf(root: string): RootLayout {
  const maintenance = join(root, '.maintenance');
  const control = join(root, 'control');
  const graph = join(root, 'graph');
  return {
    root,
    marker: join(root, 'root.json'),
    maintenance,
    lock: join(maintenance, 'root.lock'),
    restoreJournal: join(maintenance, 'restore-journal.json'),
    closingNote: join(maintenance, 'closed.json'),
    traces: join(maintenance, 'traces.json'),
    queue: join(root, 'queue'),
    graph,
    graphDatabase: join(graph, 'graph.db'),
    control,
    controlDatabase: join(control, 'control.db'),
    state: join(root, 'state', 'daemon'),
    objects: join(root, 'objects'),
    tokens: join(root, 'tokens.json'),
    daemonFile: join(root, 'daemon.json'),
  };
}

/** Folders that a bind makes when they are missing. */
export function foldersOf(layout: RootLayout): readonly string[] {
  return [layout.queue, layout.graph, layout.control, layout.state, layout.objects];
}

/** What operating systems leave in a folder, and what a start that was interrupted before its marker leaves (ROOT-83 to ROOT-85). */
const scaffold: ReadonlySet<string> = new Set([
  '.DS_Store',
  'desktop.ini',
  'Thumbs.db',
  'lost+found',
  '.maintenance',
]);

/** The first entry that makes a folder without a marker somebody else's; undefined when it counts as empty. */
export function foreignEntry(names: readonly string[]): string | undefined {
  return names.find((name) => !scaffold.has(name) && !/^root\.json\..+\.tmp$/.test(name));
}
