import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Browser } from 'playwright-core';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { getJson, postLines, waitUntilIdle } from '../support/daemon-client.ts';
import { focused, launchBrowser, openPage } from './console-browser.ts';
import { session } from './console-pages.ts';
import { mainSession, seedConsole } from './console-seed.ts';

let browser: Browser;
let folder: string;
let daemon: ChildDaemon;

beforeAll(async () => {
  browser = await launchBrowser();
  folder = await mkdtemp(join(tmpdir(), 'millrace-console-live-'));
  daemon = await startDaemon({ root: join(folder, 'root') });
  await seedConsole(daemon.url, 0);
  await waitUntilIdle(daemon.url);
});

afterAll(async () => {
  await daemon.kill();
  await browser.close();
  await rm(folder, { recursive: true, force: true });
});

const event = (id: string): string =>
  JSON.stringify({
    event: 'session:start',
    workspace: 'live',
    event_id: id,
    data: { session_id: id, timestamp: '2026-11-01T00:00:00Z' },
  });

describe('live numbers', () => {
  it('come by the stream of the daemon, and by asking where a proxy keeps the stream back', async () => {
    const { page, visit, wrongs, close } = await openPage(browser, daemon.url);
    let asked = 0;
    let streams = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/v1/status')) asked += 1;
      if (request.url().includes('/v1/stream')) streams += 1;
    });
    await visit('overview');
    const accepted = page.locator('.tile', { hasText: 'Accepted' });
    const all = async (): Promise<number> =>
      Number(/([\d,]+) in all/.exec(await accepted.innerText())?.[1]?.replaceAll(',', ''));
    await expect.poll(all).toBeGreaterThan(10);
    const before = await all();
    const askedBefore = asked;
    await postLines(daemon.url, [event('live-1')]);
    await expect.poll(all).toBe(before + 1);
    expect(streams).toBe(1);
    expect(asked).toBe(askedBefore);
    // From here on no stream comes through: the page asks, and says nothing of it.
    await page.route('**/v1/stream*', (route) => route.abort());
    await visit('sessions');
    await page.reload();
    await visit('overview');
    await postLines(daemon.url, [event('live-2')]);
    await expect.poll(all).toBe(before + 2);
    expect(wrongs.filter((text) => !text.includes('ERR_FAILED'))).toEqual([]);
    await close();
  });

  it('are drawn once there is a line to draw, with times on the axis', async () => {
    const { page, visit, close } = await openPage(browser, daemon.url);
    await visit('overview');
    const chart = page.locator('.chart').first();
    await chart.locator('canvas').waitFor({ timeout: 20_000 });
    expect(await chart.innerText()).not.toContain('00:00:00');
    await close();
  });
});

describe('the deletion of a session', () => {
  it('shows what would go, asks for a word, and is done by keyboard alone', async () => {
    const { page, visit, keep, wrongs, close } = await openPage(browser, daemon.url);
    await visit(`${session}/books`);
    await page.getByRole('button', { name: 'Delete session…' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText(mainSession, { exact: true }).waitFor();
    await keep('delete-session');
    expect(await focused(page, 'textContent')).toBe('Cancel');
    await page.keyboard.press('Escape');
    expect(await getJson(daemon.url, `/v1/sessions/${mainSession}`)).toMatchObject({ dead: 0 });
    await page.getByRole('button', { name: 'Delete session…' }).press('Enter');
    await dialog.getByLabel('Also the sessions below it').press('Space');
    await dialog.getByText(`${mainSession}-explorer`).waitFor();
    const go = dialog.getByRole('button', { name: 'Delete for good' });
    expect(await go.isDisabled()).toBe(true);
    await dialog.getByLabel(/^Type/).fill('delete');
    await go.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor();
    const gone = await fetch(`${daemon.url}/v1/sessions/${mainSession}`);
    expect(gone.status).toBe(404);
    expect((await fetch(`${daemon.url}/v1/sessions/${mainSession}-explorer`)).status).toBe(404);
    expect(wrongs).toEqual([]);
    await close();
  });
});
