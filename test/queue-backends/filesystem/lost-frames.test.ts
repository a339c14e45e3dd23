import { describe, expect, it } from 'vitest';
import type { FilesystemQueue } from '#queue-backends/filesystem';
import { scanJournal } from '../../../queue-backends/filesystem/recovery/recovery-scan.ts';
import { append, assertBooks, discard, kill, numbered } from '../../contract/queue/steps.ts';
import { queueDirectory } from '../../support/filesystem-queue.ts';
import { testKey } from '../../support/queue-fixtures.ts';
import { edit, folderOf, namesIn, segmentPaths, withPlace, type Place } from './place.ts';
import { apply, help } from './stopped-key.ts';

const journal = `${queueDirectory}/journal`;
const headerBytes = 48;

/** What a file held, to be put back. */
async function bytesOf(
  place: Place,
  paths: readonly string[],
): Promise<ReadonlyMap<string, Buffer>> {
  const found = new Map<string, Buffer>();
  for (const path of paths) found.set(path, Buffer.from((await place.disk.readFile(path)) ?? []));
  return found;
}

/**
 * A root after a kill in the middle of a checkpoint: appends, commits, letters and a discard lie in frames above the mark; the files of the sessions hold
 * them already, but for those of `behind`.
 */
async function killedInCheckpoint(place: Place, behind: readonly string[]): Promise<void> {
  const queue = await place.open();
  await append(queue, ...numbered('s', 0, 3), ...numbered('t', 0, 3));
  await apply(queue, 1);
  await queue.checkpoint();
  await append(queue, ...numbered('s', 3, 2), ...numbered('t', 3, 1));
  await append(queue, ...numbered('u', 0, 2));
  await apply(queue, 3);
  const letter = await kill(queue, 't');
  await apply(queue, 1, 't');
  await discard(queue, letter, 't');
  await kill(queue, 's');
  await apply(queue, 1, 'u');
  await append(queue, ...numbered('s', 5, 1));
  const old: string[] = [...(await segmentPaths(place.disk))];
  for (const session of behind) {
    const folder = folderOf(testKey(session));
    for (const name of await namesIn(place.disk, folder, /./)) old.push(`${folder}/${name}`);
  }
  const before = await bytesOf(place, old);
  await queue.checkpoint();
  await place.kill();
  for (const [path, bytes] of before) await edit(place.disk, path, () => bytes);
}

/** Ways out of quarantine, the one that loses least first, until no session is stopped. */
async function clearAll(queue: FilesystemQueue): Promise<void> {
  let operation = 0;
  for (const { key, quarantine } of await queue.listKeys({ limit: 100 })) {
    if (quarantine === null) continue;
    const shown = await queue.showQuarantine(key);
    const way = (shown?.ways ?? []).find(
      ({ applies, mode }) => applies && mode !== 'offset-from-preserved',
    );
    if (way === undefined) throw new Error(`${key} has no way out: ${JSON.stringify(shown)}`);
    operation += 1;
    await queue.clearQuarantine(
      key,
      { mode: way.mode, by: 'operator', operationId: `op-${operation}` },
      help,
    );
  }
}

async function framesOf(place: Place) {
  return (await scanJournal(place.disk, journal)).places;
}

describe('one frame of the journal that is damaged, whichever (P4, P7)', () => {
  it.each([[[]], [['s', 't']], [['t', 'u']]])(
    'leaves books that balance, of each session and of the root, before and behind the ways out: files of %j behind (P4, P7)',
    async (behind) => {
      let count = Number.POSITIVE_INFINITY;
      const wrong: string[] = [];
      for (let at = 0; at < count; at += 1)
        await withPlace(async (place) => {
          await killedInCheckpoint(place, behind);
          const frames = await framesOf(place);
          count = frames.length;
          const frame = frames[at];
          if (frame === undefined) throw new Error('a frame less than a moment ago');
          await edit(place.disk, `${journal}/${frame.segment}`, (bytes) => {
            const byte = frame.at + headerBytes + 1;
            bytes[byte] = (bytes[byte] ?? 0) ^ 0x01;
            return bytes;
          });
          try {
            const queue = await place.open();
            await assertBooks(queue);
            await clearAll(queue);
            await assertBooks(queue);
            await place.kill();
            await assertBooks(await place.open());
          } catch (error) {
            wrong.push(`frame ${at} of ${count}: ${String(error)}`);
          }
        });
      expect(count).toBeGreaterThan(8);
      expect(wrong).toEqual([]);
    },
  );
});
