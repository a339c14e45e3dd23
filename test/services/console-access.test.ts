import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { waitUntilIdle } from '../support/daemon-client.ts';
import { launchBrowser, narrow, openPage, wide } from './console-browser.ts';
import { pages, session } from './console-pages.ts';
import { seedConsole } from './console-seed.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What keeps people out of what the page shows now, by all rules of axe. */
async function violationsOn(page: Page, name: string): Promise<readonly string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate<readonly Violation[]>(
    'axe.run(document).then(({ violations }) => violations)',
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${name}: ${id}: ${html} ${failureSummary}`),
  );
}

let browser: Browser;
let folder: string;
let daemon: ChildDaemon;

beforeAll(async () => {
  browser = await launchBrowser();
  folder = await mkdtemp(join(tmpdir(), 'millrace-access-'));
  daemon = await startDaemon({ root: join(folder, 'root') });
  await seedConsole(daemon.url, 30);
  await waitUntilIdle(daemon.url);
});

afterAll(async () => {
  await daemon.kill();
  await browser.close();
  await rm(folder, { recursive: true, force: true });
});

describe('the console for everybody', () => {
  for (const look of [wide, narrow])
    it(`has nothing that axe objects to, on every page, ${look.scheme} at ${look.width} px`, async () => {
      const { page, visit, close } = await openPage(browser, daemon.url, look);
      const found: string[] = [];
      for (const [name, address] of Object.entries(pages)) {
        await visit(address);
        found.push(...(await violationsOn(page, name)));
      }
      expect(found).toEqual([]);
      await close();
    });

  it('nor in what lies over the pages: questions before an act, a node, the menu', async () => {
    const { page, visit, close } = await openPage(browser, daemon.url);
    const found: string[] = [];
    const questions = [
      ['dead', 'Requeue…'],
      ['dead', 'Discard…'],
      [`${session}/books`, 'Delete session…'],
    ] as const;
    for (const [address, button] of questions) {
      await visit(address);
      await page.getByRole('button', { name: button }).first().click();
      await page.getByRole('dialog').waitFor();
      found.push(...(await violationsOn(page, button)));
      await page.keyboard.press('Escape');
    }
    await visit(`${session}/graph`);
    await page.locator('.graph-side li button').first().click();
    await page.getByRole('button', { name: 'Details' }).click();
    await page.getByRole('dialog').waitFor();
    found.push(...(await violationsOn(page, 'node')));
    await close();
    const small = await openPage(browser, daemon.url, narrow);
    await small.visit('overview');
    await small.page.getByRole('button', { name: 'Menu' }).click();
    found.push(...(await violationsOn(small.page, 'menu')));
    await small.close();
    expect(found).toEqual([]);
  });
});
