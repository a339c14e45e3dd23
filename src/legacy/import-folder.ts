import { legacyFolderInvalid } from './errors.ts';
import { importLetters } from './import-letters.ts';
import { importLog } from './import-log.ts';
import type { ImportNeeds, ImportOptions, ImportReport, SessionReport } from './import-report.ts';
import { sortFolder, type SortedFolder } from './sort-folder.ts';

/** How long the drain may stand still before dead letters go on without it. */
const stallMs = 30_000;
const lookMs = 250;

/**
 * Adopts a folder of the predecessor (QFS-24, ING-828): all logs first, record by record in their order and by the way of every event, while
 * the drain works; then the dead letters. The source is only read. Every id is known after the first import, so a second one adds nothing.
 */
export async function importFolder(
  needs: ImportNeeds,
  options: ImportOptions,
): Promise<ImportReport> {
  const { sessions, others } = await sorted(needs, options);
  const reports: SessionReport[] = [];
  let lines = 0;
  for (const session of sessions) {
    const report = await importLog(needs, options, session);
    reports.push(report);
    lines += report.lines;
    options.onProgress({ sessions: reports.length, lines });
  }
  const withLetters = sessions.filter(
    ({ dead, retired }) => dead !== undefined || retired.length > 0,
  );
  if (withLetters.length > 0) await settle(needs);
  await needs.stopDrain();
  const reportOf = new Map(reports.map((report) => [report.name, report]));
  for (const session of withLetters) {
    const report = reportOf.get(session.name);
    if (report !== undefined) await importLetters(needs, options, session, report);
  }
  return { folder: options.folder, sessions: reports, not_taken: others };
}

async function sorted({ disk }: ImportNeeds, { folder }: ImportOptions): Promise<SortedFolder> {
  const stat = await disk.stat(folder);
  if (stat?.kind !== 'directory')
    throw legacyFolderInvalid({ folder, reason: 'there is no such folder' });
  const entries = await disk.readDirectory(folder);
  const files = entries.filter(({ kind }) => kind === 'file');
  const found = sortFolder(files.map(({ name }) => name));
  const folders = entries.filter(({ kind }) => kind !== 'file').map(({ name }) => name);
  if (folders.includes('sessions') && files.some(({ name }) => name === 'format.json'))
    throw legacyFolderInvalid({ folder, reason: 'it is the queue of a millrace root' });
  if (found.sessions.length === 0)
    throw legacyFolderInvalid({ folder, reason: 'it holds no session' });
  const others = [...found.others, ...folders.map((name) => ({ name, reason: 'no file' }))];
  return { ...found, others };
}

/** Resolves when all that can be drained is, or when nothing has moved for a while: keys that still wait keep their letters for the next import. */
async function settle({ clock, drain, ledger }: ImportNeeds): Promise<void> {
  const enough = new AbortController();
  const idle = drain.idle(enough.signal).then(
    () => 'idle' as const,
    () => 'given up' as const,
  );
  let pending = ledger.totals().pending;
  let movedAt = clock.monotonic();
  const hasStalled = (): boolean => {
    const now = ledger.totals().pending;
    if (now !== pending) movedAt = clock.monotonic();
    pending = now;
    return clock.monotonic() - movedAt > stallMs;
  };
  for (;;) {
    const ended = await Promise.race([idle, clock.sleep(lookMs)]);
    if (ended !== undefined || hasStalled()) break;
  }
  enough.abort(new Error('the import goes on'));
  await idle;
}
