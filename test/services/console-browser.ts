import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { expect } from 'vitest';

/** Kept as artifacts of the run; git ignores the folder. */
const pictures = join(import.meta.dirname, '..', '..', '.cache', 'console');

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const chromiumPath = '/usr/bin/chromium';

export function launchBrowser(): Promise<Browser> {
  mkdirSync(pictures, { recursive: true });
  return chromium.launch({ executablePath: chromiumPath, args: flags });
}

/** A page that notices what must never happen: an error of a script, a breach of the policy, a request to another host. */
export interface WatchedPage {
  readonly page: Page;
  /** What went wrong so far. */
  readonly wrongs: readonly string[];
  /** Goes to an address behind `#/` and waits until nothing is loading. */
  visit(address: string): Promise<void>;
  /** Keeps a picture, and fails where something is wider than the window. */
  keep(name: string): Promise<void>;
  close(): Promise<void>;
}

export interface Look {
  readonly width: number;
  readonly height: number;
  readonly scheme: 'light' | 'dark';
}

export const wide: Look = { width: 1440, height: 900, scheme: 'light' };
export const narrow: Look = { width: 375, height: 812, scheme: 'dark' };

export async function openPage(
  browser: Browser,
  url: string,
  look: Look = wide,
): Promise<WatchedPage> {
  const { width, height, scheme } = look;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
  const page = await context.newPage();
  const wrongs: string[] = [];
  page.on('pageerror', ({ message }) => wrongs.push(message));
  page.on('console', (message) => {
    // A refused token is an answer that the browser tells as an error of its own.
    const isRefusal = /status of 40[134]/.test(message.text());
    if (message.type() === 'error' && !isRefusal) wrongs.push(message.text());
  });
  page.on('dialog', (dialog) => wrongs.push(`a dialog: ${dialog.message()}`));
  page.on('request', (request) => {
    const isOwn = request.url().startsWith(`${url}/`) || /^(data|blob):/.test(request.url());
    if (!isOwn) wrongs.push(`asked ${request.url()}`);
  });
  return {
    page,
    wrongs,
    async visit(address) {
      await page.goto(`${url}/#/${address}`);
      await settled(page);
    },
    async keep(name) {
      const overflow = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(overflow, `${name} is wider than ${width} px`).toBe(0);
      await page.screenshot({ path: join(pictures, `${name}-${width}.png`), fullPage: true });
    },
    close: () => context.close(),
  };
}

/** Nothing on the page says that it is loading. */
export async function settled(page: Page): Promise<void> {
  await page.locator('main h1, main.alone').first().waitFor();
  await expect.poll(() => page.locator('.loading').count()).toBe(0);
}

/** A member of the element that has the focus. */
export function focused(page: Page, member: string): Promise<unknown> {
  return page.evaluate(`document.activeElement?.${member}`);
}
