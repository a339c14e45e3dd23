import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { startDaemon, type ChildDaemon } from '../support/child-daemon.ts';
import { getJson, waitUntilIdle } from '../support/daemon-client.ts';
import { focused, launchBrowser, narrow, openPage, settled } from './console-browser.ts';
import { seedConsole } from './console-seed.ts';

let browser: Browser;
let folder: string;
let daemon: ChildDaemon;

beforeAll(async () => {
  browser = await launchBrowser();
  folder = await mkdtemp(join(tmpdir(), 'millrace-desk-'));
  daemon = await startDaemon({ root: join(folder, 'root') });
  await seedConsole(daemon.url, 60);
  await waitUntilIdle(daemon.url);
});

afterAll(async () => {
  await daemon.kill();
  await browser.close();
  await rm(folder, { recursive: true, force: true });
});

interface Books {
  readonly accepted: number;
  readonly dead: number;
  readonly discarded: number;
  readonly residual: number;
}

const books = (): Promise<Books> => getJson<Books>(daemon.url, '/v1/status');

describe('the desk of dead letters in a browser', () => {
  it('loses nothing by a click: both acts show first what they would do, and Escape leaves all as it was', async () => {
    const { page, visit, keep, wrongs, close } = await openPage(browser, daemon.url);
    const before = await books();
    expect(before.dead).toBeGreaterThan(0);
    await visit('dead');
    await page.getByRole('button', { name: 'Requeue…' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog
      .getByText(/would be dead again/)
      .first()
      .waitFor();
    await keep('dead-requeue-dialog');
    // The safe answer has the focus, so Enter is harmless too.
    expect(await focused(page, 'textContent')).toBe('Cancel');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Discard…' }).first().click();
    await dialog.getByText(/will never be in the graph/).waitFor();
    expect(await dialog.getByRole('button', { name: /^Discard/ }).isDisabled()).toBe(true);
    await keep('dead-discard-dialog');
    await page.keyboard.press('Escape');
    expect(await dialog.count()).toBe(0);
    expect(await books()).toMatchObject({
      dead: before.dead,
      accepted: before.accepted,
      discarded: 0,
    });
    expect(wrongs).toEqual([]);
    await close();
  });

  it('edits a letter, shows what that changes, and tells the lives of one that died again', async () => {
    const { page, visit, keep, wrongs, close } = await openPage(browser, daemon.url);
    await visit('dead/letters');
    await page.locator('tbody a').first().click();
    await page.getByLabel('Event to append').waitFor();
    const text = await page.getByLabel('Event to append').inputValue();
    // It dies again: the second life is compared with the first.
    await page.getByRole('button', { name: 'Requeue…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Requeue', exact: true }).click();
    await page.getByText(/This letter is settled/).waitFor();
    await waitUntilIdle(daemon.url);
    await page.reload();
    await page.getByText('The error is the same.').waitFor();
    await keep('dead-lives');
    await page.locator('section[aria-label=Lives] tbody a').last().click();
    await page.getByLabel('Event to append').waitFor();
    await page
      .getByLabel('Event to append')
      .fill(text.replace(/"(parent|parent_id)": ?"[^"]*"/, '"$1": "somebody-else"'));
    await page.getByRole('region', { name: 'Difference' }).waitFor();
    await keep('dead-edit');
    await page.getByRole('button', { name: /append the edited event/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('would be applied').waitFor();
    await keep('dead-edit-dialog');
    const before = await books();
    await dialog.getByRole('button', { name: 'Append it' }).click();
    await page.getByText(/This letter is settled/).waitFor();
    await waitUntilIdle(daemon.url);
    expect(await books()).toMatchObject({ dead: before.dead - 1, residual: 0 });
    expect(wrongs).toEqual([]);
    await close();
  });

  it('requeues a cause as a job and shows its progress and results', async () => {
    const { page, visit, keep, wrongs, close } = await openPage(browser, daemon.url);
    await visit('dead');
    await page.getByRole('button', { name: 'Requeue…' }).last().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Letters per second').fill('5');
    await dialog.getByLabel('Reason').fill('the cause is mended');
    await dialog.getByRole('button', { name: /^Requeue/ }).click();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Go on' }).waitFor();
    await keep('dead-job-paused');
    await page.getByRole('button', { name: 'Go on' }).click();
    await page
      .locator('.pill', { hasText: /^done$/ })
      .first()
      .waitFor({ timeout: 60_000 });
    await keep('dead-job-done');
    await visit('dead/jobs');
    await page.getByText('the cause is mended').waitFor();
    await waitUntilIdle(daemon.url);
    expect(await books()).toMatchObject({ residual: 0, discarded: 0 });
    expect(wrongs).toEqual([]);
    await close();
  });

  it('discards only after the word was typed, and exactly what was found', async () => {
    const { page, visit, close } = await openPage(browser, daemon.url, narrow);
    const before = await books();
    await visit('dead/letters?session=dying-1&workspace=billing');
    const count = await page.locator('tbody tr').count();
    await page.getByRole('button', { name: /^Discard these/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/^Type/).fill('discard');
    await dialog.getByRole('button', { name: /^Discard/ }).click();
    await page.getByRole('heading', { name: /^Discard of/ }).waitFor();
    expect(await books()).toMatchObject({
      dead: before.dead - count,
      discarded: count,
      residual: 0,
    });
    await close();
  });

  it('asks for a token, keeps it in the tab alone, and switches off what it may not do', async () => {
    const secret = async (name: string, scopes: readonly string[], token = ''): Promise<string> => {
      const made = await fetch(`${daemon.url}/v1/tokens`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({ name, scopes }),
      });
      return ((await made.json()) as { token: string }).token;
    };
    const operator = await secret('operator', ['ops:read', 'ops:write', 'ingest:read']);
    const looker = await secret('looker', ['ops:read', 'ingest:read'], operator);
    const reader = await secret('reader', ['ingest:read'], operator);
    const { page, keep, visit, wrongs, close } = await openPage(browser, daemon.url);
    await page.goto(daemon.url);
    await page.getByLabel('Token', { exact: true }).fill('wrong');
    await keep('sign-in');
    await page.keyboard.press('Enter');
    await page.getByText(/not known/).waitFor();
    await page.getByLabel('Token', { exact: true }).fill(looker);
    await page.keyboard.press('Enter');
    await page.getByText('Signed in as').waitFor();
    await visit('dead');
    expect(await page.getByRole('button', { name: 'Requeue…' }).first().isDisabled()).toBe(true);
    expect(
      await page.getByRole('button', { name: 'Requeue…' }).first().getAttribute('title'),
    ).toContain('ops:write');
    await keep('dead-looker');
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain(looker);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token', { exact: true }).fill(reader);
    await page.keyboard.press('Enter');
    await page.getByText('Signed in as').waitFor();
    await settled(page);
    expect(await page.getByRole('link', { name: 'Dead letters' }).count()).toBe(0);
    await visit('dead');
    await page.getByText(/needs a token with the scope ops:read/).waitFor();
    // Another tab knows nothing of it.
    const other = await openPage(browser, daemon.url);
    await other.page.goto(daemon.url);
    await other.page.getByLabel('Token', { exact: true }).waitFor();
    await other.close();
    expect(wrongs).toEqual([]);
    await close();
  });
});
