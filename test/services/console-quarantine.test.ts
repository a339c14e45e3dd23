import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDaemon } from '../support/child-daemon.ts';
import { getJson, waitUntilIdle } from '../support/daemon-client.ts';
import { withTemporaryDirectory } from '../support/temporary-root.ts';
import { launchBrowser, narrow, openPage, wide } from './console-browser.ts';

async function post(url: string, at: number): Promise<void> {
  const timestamp = new Date(Date.UTC(2026, 0, 1, 9, 0, at)).toISOString();
  const data = { session_id: 'hurt', timestamp };
  const answer = await fetch(`${url}/v1/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ event: 'custom:note', workspace: 'w', event_id: `e${at}`, data }),
  });
  expect(answer.status, await answer.text()).toBe(202);
}

const stopped = async (url: string): Promise<readonly unknown[]> =>
  (await getJson<{ quarantine: readonly unknown[] }>(url, '/v1/quarantine')).quarantine;

it('shows what damage has stopped, and leads out of it only after it was shown and confirmed (ING-412)', () =>
  withTemporaryDirectory(async (folder) => {
    const root = join(folder, 'root');
    const first = await startDaemon({ root });
    for (let at = 0; at < 3; at += 1) await post(first.url, at);
    await waitUntilIdle(first.url);
    await first.stop();
    const shard = createHash('sha256').update('w~hurt').digest('hex').slice(0, 2);
    await writeFile(join(root, 'queue', 'sessions', shard, 'w~hurt', 'offset.json'), '12x');
    const daemon = await startDaemon({ root });
    const browser = await launchBrowser();
    try {
      await fetch(`${daemon.url}/v1/queue/recover`, { method: 'POST' });
      await expect.poll(() => stopped(daemon.url)).toHaveLength(1);
      for (const look of [wide, narrow]) {
        const seen = await openPage(browser, daemon.url, look);
        await seen.visit('quarantine');
        await seen.keep('quarantine-list');
        await seen.visit('quarantine/w/hurt');
        await seen.page.getByRole('heading', { name: 'Ways out' }).waitFor();
        await seen.keep('quarantine-one');
        expect(seen.wrongs).toEqual([]);
        await seen.close();
      }
      const { page, visit, keep, wrongs, close } = await openPage(browser, daemon.url);
      await visit('quarantine/w/hurt');
      const restart = page.locator('tr', { hasText: 'restart-log' });
      await restart.getByRole('button', { name: 'Look and decide' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Records that become dead letters').waitFor();
      await keep('quarantine-dialog');
      await page.keyboard.press('Escape');
      expect(await stopped(daemon.url)).toHaveLength(1);
      await restart.getByRole('button', { name: 'Look and decide' }).click();
      await dialog.getByRole('button', { name: 'Do it' }).click();
      await page.getByText('This session is not in quarantine any more.').waitFor();
      await waitUntilIdle(daemon.url);
      expect(await stopped(daemon.url)).toHaveLength(0);
      expect(wrongs).toEqual([]);
      await close();
    } finally {
      await browser.close();
      await daemon.kill();
    }
  }));
