import { systemClock } from '#base';
import type { RootVerified, VerifiedKey, VerifyFinding } from '#daemon';
import { nodeDisk } from '#disk';
import { resolveRoot, type DaemonFile } from '#roots';
import type { CommandContext } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { facts, type Printer } from '../print.ts';

export interface VerifyFlags {
  readonly root?: string;
  readonly all?: boolean;
  readonly json?: boolean;
}

/** `queue verify`: told as it is found, so that a large root costs no memory (ING-921). */
export async function queueVerify(context: CommandContext, flags: VerifyFlags): Promise<number> {
  const { printer, environment, isJson } = context;
  const root = resolveRoot({
    flag: flags.root,
    environment: environment.root,
    platformDefault: environment.defaultRoot,
  });
  const telling = isJson ? jsonTelling(printer) : textTelling(printer);
  const counts = { findings: 0, notes: 0 };
  const count = ({ level }: VerifyFinding): void => {
    if (level === 'finding') counts.findings += 1;
    else counts.notes += 1;
  };
  const { verifyRoot } = await import('#daemon');
  const verified = await verifyRoot({
    root,
    disk: nodeDisk(),
    clock: systemClock,
    onLive: (daemon) => printer.err(liveText(daemon)),
    onFinding: (finding) => {
      count(finding);
      telling.finding(finding);
    },
    onKey: async (key) => {
      for (const finding of key.findings) count(finding);
      if (flags.all === true || key.findings.length > 0) await telling.key(key);
    },
    onProgress: ({ keys, records }) => printer.progress(`  ${keys} sessions, ${records} records`),
  });
  await telling.end(verified, counts);
  return counts.findings === 0 ? exitCodes.done : exitCodes.refused;
}

function liveText({ url, pid }: DaemonFile): string {
  return `a daemon serves this root (${url}, pid ${pid}): what it is in the middle of is told as a note; stop it for a look at rest`;
}

interface Counts {
  readonly findings: number;
  readonly notes: number;
}

interface Telling {
  finding(finding: VerifyFinding): void;
  key(key: VerifiedKey): Promise<void>;
  end(verified: RootVerified, counts: Counts): Promise<void>;
}

function textTelling(printer: Printer): Telling {
  const tell = (finding: VerifyFinding): void => printer.out(findingText(finding));
  return {
    finding: tell,
    async key(key) {
      if (key.findings.length === 0) printer.out(keyText(key));
      for (const finding of key.findings) tell(finding);
    },
    async end(verified, counts) {
      const { root, keys, records, pending, dead, retired, quarantined, journal } = verified;
      const { segments, tenure, mark, last_sequence, frames_above_mark } = journal;
      const told = { segments, tenure, mark, last_sequence, frames_above_mark };
      printer.out(
        facts({
          root,
          sessions: keys,
          records,
          pending,
          dead,
          retired,
          quarantined,
          journal: told,
          ...counts,
        }),
      );
    },
  };
}

function findingText({ level, code, path, from, to, message }: VerifyFinding): string {
  const range = from === undefined ? '' : ` bytes ${from} to ${to ?? from}`;
  return `${level} ${code} ${path}${range}: ${message}`;
}

function keyText({ key, committed, end, records, pending, dead }: VerifiedKey): string {
  return `ok ${key}: committed ${committed ?? '-'} of ${end ?? '-'}, ${records} records, ${pending} pending, ${dead} dead`;
}

/** One document, written as it grows; the keys come first because the summary is known last. */
function jsonTelling(printer: Printer): Telling {
  const ofRoot: VerifyFinding[] = [];
  let isBegun = false;
  const write = (text: string): Promise<void> => printer.bytes(Buffer.from(text, 'utf8'));
  return {
    finding(finding) {
      ofRoot.push(finding);
    },
    async key(key) {
      await write(`${isBegun ? ',\n' : '{"keys":[\n'}${JSON.stringify(key)}`);
      isBegun = true;
    },
    async end(verified, counts) {
      const { journal, isLive, rootId, ...rest } = verified;
      const { keys: sessions, ...totals } = rest;
      const { findings: _told, ...ofJournal } = journal;
      const summary = {
        ok: counts.findings === 0,
        root_id: rootId,
        live: isLive,
        sessions,
        ...totals,
        journal: ofJournal,
        root_findings: ofRoot,
        ...counts,
      };
      const head = isBegun ? '\n],' : '{"keys":[],';
      await write(`${head}${JSON.stringify(summary).slice(1)}\n`);
    },
  };
}
