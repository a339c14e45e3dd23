import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { waitUntilIdle } from '../support/daemon-client.ts';
import { focused, launchBrowser, narrow, openPage, settled, wide } from './console-browser.ts';
import { pages, session } from './console-pages.ts';
import { seedConsole } from './console-seed.ts';

let browser: Browser;
let folder: string;
let daemon: ChildDaemon;

beforeAll(async () => {
  browser = await launchBrowser();
  folder = await mkdtemp(join(tmpdir(), 'millrace-console-'));
  daemon = await startDaemon({ root: join(folder, 'root') });
  await seedConsole(daemon.url, 60);
  await waitUntilIdle(daemon.url);
});

afterAll(async () => {
  await daemon.kill();
  await browser.close();
  await rm(folder, { recursive: true, force: true });
});

describe('the console in a browser', () => {
  for (const look of [wide, narrow])
    it(`shows every page at ${look.width} px: nothing too wide, no error, no foreign request, no markup of a client`, async () => {
      const { page, visit, keep, wrongs, close } = await openPage(browser, daemon.url, look);
      for (const [name, address] of Object.entries(pages)) {
        await visit(address);
        if (name === 'query-cypher') {
          await page.getByRole('button', { name: 'Run' }).click();
          await page.getByText(/\d+ rows?,/).waitFor();
        }
        await keep(name);
        if (name !== 'nowhere')
          expect(await page.locator('.failure[role=alert]').count(), name).toBe(0);
      }
      expect(await page.title()).not.toBe('1');
      expect(await page.locator('img:not(.brand)').count()).toBe(0);
      expect(wrongs).toEqual([]);
      await close();
    });

  it('is used by keyboard alone: skip link, pages by letters, search, a session and its parts', async () => {
    const { page, visit, wrongs, close } = await openPage(browser, daemon.url);
    await visit('overview');
    await page.keyboard.press('Tab');
    expect(await focused(page, 'textContent')).toBe('Skip to content');
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor();
    await settled(page);
    // A reader hears the new page: its heading has the focus.
    expect(await focused(page, 'tagName')).toBe('H1');
    await page.keyboard.press('/');
    await page.keyboard.type('EXPLORER');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
    for (let tabs = 0; tabs < 10; tabs += 1) {
      await page.keyboard.press('Tab');
      const text = await focused(page, 'textContent');
      if (String(text).endsWith('-explorer')) break;
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Session' }).waitFor();
    await page.getByRole('link', { name: 'Tree' }).focus();
    await page.keyboard.press('Enter');
    const twist = page.locator('.twist[aria-expanded]').first();
    await twist.focus();
    const open = await page.locator('.tree li').count();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.tree li').count()).toBeLessThan(open);
    expect(await focused(page, 'ariaExpanded')).toBe('false');
    expect(wrongs).toEqual([]);
    await close();
  });

  it('expands the picture of a graph from the list beside it, and shows a node with its values', async () => {
    const { page, visit, keep, wrongs, close } = await openPage(browser, daemon.url);
    await visit(`${session}/graph`);
    const counts = page.locator('.actions [role=status]');
    const before = Number(/^\d+/.exec(await counts.innerText())?.[0]);
    expect(before).toBeGreaterThan(5);
    await page.locator('.graph-canvas').focus();
    for (const key of ['ArrowLeft', '+', '-', '0']) await page.keyboard.press(key);
    await page.locator('.graph-side li button').first().click();
    await page.getByRole('button', { name: 'Expand', exact: true }).press('Enter');
    await page.getByRole('button', { name: /^HAS_EVENT → \d+/ }).click();
    await expect
      .poll(async () => Number(/^\d+/.exec(await counts.innerText())?.[0]))
      .toBeGreaterThan(before);
    await keep('graph-expanded');
    await page.getByRole('button', { name: 'Details' }).click();
    await page.getByRole('dialog').getByText('Edges').first().waitFor();
    await keep('node');
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(wrongs).toEqual([]);
    await close();
  });

  it('answers a query as table and as picture, and says where a wrong one is wrong', async () => {
    const { page, visit, keep, close } = await openPage(browser, daemon.url);
    await visit('query/cypher');
    const text = page.getByLabel('Cypher query');
    await text.fill(
      'MATCH path = (p:Session)-[:HAS_SUBSESSION|FORKED]->(c:Session) RETURN path LIMIT 5',
    );
    await text.press('Control+Enter');
    await page.getByRole('button', { name: /^Picture of/ }).click();
    await page.locator('.graph-canvas canvas').first().waitFor();
    await keep('query-picture');
    await text.fill('MATCH (n:Session) RETURN n.');
    await text.press('Control+Enter');
    await page
      .locator('.failure')
      .getByText(/CYPHER_INVALID/)
      .waitFor();
    await text.fill('CREATE (n:Session)');
    await text.press('Control+Enter');
    await page
      .locator('.failure')
      .getByText(/CYPHER_UNSUPPORTED/)
      .waitFor();
    await keep('query-refused');
    await close();
  });
});
