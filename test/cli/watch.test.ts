import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base';
import { followFile, hasNews, type Followed } from '../../src/cli/watch/follow-file.ts';
import type { RejectedLine } from '../../src/cli/post/post-file.ts';
import type { Printer } from '../../src/cli/print.ts';
import { lookOnce } from '../../src/cli/watch/watch-command.ts';
import { listWatched } from '../../src/cli/watch/watch-files.ts';
import { openWatchHints } from '../../src/cli/watch/watch-hints.ts';
import { openWatchStates } from '../../src/cli/watch/watch-state.ts';
import { gatheringClient, type GatheringClient } from './gathering-client.ts';

let folder = '';
let client: GatheringClient;
const printer: Printer = {
  out: () => undefined,
  err: () => undefined,
  bytes: () => Promise.resolve(),
  progress: () => undefined,
};
/** Patience is over at the second look at the clock. */
let nowMs = 0;
const clock = {
  ...systemClock,
  monotonic: () => (nowMs += 1_000_000),
  sleep: () => Promise.resolve(),
};
const rejects: RejectedLine[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-watch-'));
  mkdirSync(join(folder, 'projects/-w'), { recursive: true });
  client = gatheringClient();
  rejects.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const session = (): string => join(folder, 'projects/-w/s.jsonl');

function row(n: number, text = 'x'): string {
  const uuid = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
  const timestamp = `2026-07-20T09:00:${String(n).padStart(2, '0')}.000Z`;
  return JSON.stringify({
    type: 'system',
    subtype: 'local_command',
    uuid,
    timestamp,
    sessionId: 's',
    content: text,
  });
}

/** One look, as after a start: nothing is remembered but what is on disk. */
async function look(): Promise<Followed | undefined> {
  const seen: Followed[] = [];
  const states = openWatchStates(join(folder, 'state'));
  const onReject = (_file: string, reject: RejectedLine): void => void rejects.push(reject);
  const options = { clock, printer, states, onReject };
  await lookOnce([join(folder, 'projects')], {
    client,
    options,
    onFollowed: (_file, followed) => void seen.push(followed),
    signal: undefined,
  });
  return seen[0];
}

describe('watch', () => {
  it('sends what a file grows by, once, over restarts', async () => {
    writeFileSync(session(), `${row(1)}\n${row(2)}\n`);
    expect(await look()).toMatchObject({ lines: 2, duplicates: 0 });
    expect(await look()).toBeUndefined();
    appendFileSync(session(), `${row(3)}\n`);
    expect(await look()).toMatchObject({ lines: 1, queued: 1, duplicates: 0 });
    // session:start and three rows: nothing of the old part was sent again.
    expect(client.bodies).toHaveLength(4);
    expect(client.bodies.every((body) => body.includes('"workspace":"-w"'))).toBe(true);
  });

  it('lets a last line wait until it is whole, and takes one that is whole without a line break', async () => {
    const whole = row(2, 'longer');
    writeFileSync(session(), `${row(1)}\n${whole.slice(0, 40)}`);
    expect(await look()).toMatchObject({ lines: 1, rejected: 0 });
    appendFileSync(session(), whole.slice(40));
    expect(await look()).toMatchObject({ lines: 1, queued: 1 });
    appendFileSync(session(), `\n${row(3)}\n`);
    expect(await look()).toMatchObject({ queued: 1, duplicates: 0, rejected: 0 });
  });

  it('reads a file that was cut off or exchanged from its begin, and adds only what is new', async () => {
    writeFileSync(session(), `${row(1)}\n${row(2)}\n${row(3)}\n`);
    await look();
    writeFileSync(session(), `${row(1)}\n${row(4)}\n`);
    expect(await look()).toMatchObject({ lines: 2, queued: 1, duplicates: 2, isAnew: true });
    writeFileSync(`${session()}.new`, `${row(5)}\n${row(1)}\n${row(4)}\n${row(6)}\n`);
    renameSync(`${session()}.new`, session());
    expect(await look()).toMatchObject({ lines: 4, queued: 2, isAnew: true });
    // The same length, the same inode, other bytes.
    const bytes = readFileSync(session(), 'utf8');
    writeFileSync(session(), `${bytes.replaceAll('000000000005', '000000000008')}${row(9)}\n`);
    expect(await look()).toMatchObject({ isAnew: true, queued: 2 });
  });

  it('goes on where it was when the daemon is away, and loses nothing', async () => {
    writeFileSync(session(), `${row(1)}\n`);
    await look();
    appendFileSync(session(), `${row(2)}\n`);
    client.isAway = true;
    await expect(look()).rejects.toThrow('no daemon answers');
    client.isAway = false;
    expect(await look()).toMatchObject({ lines: 1, queued: 1 });
  });

  it('tells bad lines by their place in the whole file, also behind a restart, and CRLF and a mark count', async () => {
    writeFileSync(session(), `\uFEFF${row(1)}\r\n${row(2)}\r\n`);
    await look();
    appendFileSync(session(), `broken\n${row(3)}\n`);
    const size = statSync(session()).size;
    await look();
    expect(rejects.map(({ line, offset }) => [line, offset])).toEqual([
      [3, size - `broken\n${row(3)}\n`.length],
    ]);
    expect(client.bodies).toHaveLength(4);
  });

  it('reads from the begin when what it remembers is damaged, which adds nothing twice', async () => {
    writeFileSync(session(), `${row(1)}\n`);
    await look();
    rmSync(join(folder, 'state'), { recursive: true });
    expect(await look()).toMatchObject({ queued: 0, duplicates: 2 });
  });

  it('follows every session file below its folders, of two logs of one session the one that names its workspace', () => {
    const amplifier = join(folder, 'projects/-w/sessions/a');
    mkdirSync(join(amplifier, 'context-intelligence'), { recursive: true });
    for (const name of [
      'events.jsonl',
      'transcript.jsonl',
      'context-intelligence/events.jsonl',
      'metadata.json',
    ])
      writeFileSync(join(amplifier, name), '');
    writeFileSync(session(), '');
    const troubles: string[] = [];
    const files = listWatched([folder, join(folder, 'absent')], (path) => troubles.push(path));
    expect(files.map(({ path }) => path)).toEqual([
      session(),
      join(amplifier, 'context-intelligence/events.jsonl'),
    ]);
    expect(troubles).toEqual([join(folder, 'absent')]);
  });

  it('holds a batch in memory and no more: a large file is sent in parts, each remembered', async () => {
    const rows = Array.from({ length: 1200 }, (_, n) =>
      row(n % 60, String(n)).replace('8000-', `8${String(n).padStart(3, '0').slice(-3)}-`),
    );
    writeFileSync(session(), `${rows.join('\n')}\n`);
    const states = openWatchStates(join(folder, 'state'));
    const saved: number[] = [];
    const [file] = listWatched([folder], () => undefined);
    if (file === undefined) throw new Error('no file');
    const counting = {
      load: states.load,
      save: (state: Parameters<typeof states.save>[0]) => void saved.push(state.offset),
    };
    await followFile(client, file, { clock, printer, states: counting, onReject: () => undefined });
    expect(saved.length).toBeGreaterThan(2);
    expect(saved.at(-1)).toBe(file.size);
    expect(hasNews(file, undefined)).toBe(true);
  });

  it('is woken by a change, where the system tells of it', async () => {
    writeFileSync(session(), `${row(1)}\n`);
    const hints = await openWatchHints([folder], () => undefined);
    await hints.ready;
    appendFileSync(session(), `${row(2)}\n`);
    await hints.next();
    await hints.close();
  });
});
