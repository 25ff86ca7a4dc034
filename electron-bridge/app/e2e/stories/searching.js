/** Searching: as one types, by keys, into the viewer, into the editor. */

import assert from 'node:assert/strict';
import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { once } from 'node:events';

import { findViolations } from '../support/axe.js';
import { TIMEOUT_MS } from '../support/desktop.js';
import { takeScreenshots } from '../support/screenshots.js';

/** @typedef {import('playwright-core').Page} Page */

/** The kernel reports files, not the end of indexing; so its status is polled. */
const POLL_INTERVAL_MS = 100;

/**
 * Resolves when everything there is has been read and embedded.
 *
 * @param {Page} page
 */
export async function waitUntilIndexed(page) {
  // The page opens its repository when it is loaded; what is asked before that is refused.
  await page.getByRole('tab', { name: 'Search' }).waitFor();
  await page.evaluate(async (pause) => {
    for (;;) {
      const { state, files } = await window.kernel.getIndexStatus();
      if (state === 'idle' && files > 0) return;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }, POLL_INTERVAL_MS);
}

/**
 * They are there once: a page that is loaded again has none.
 *
 * @param {Page} page
 */
async function readTips(page) {
  const tip = page.getByRole('region', { name: 'Search as you type' });
  await tip.getByRole('button', { name: 'Next' }).click();
  await page.getByRole('region', { name: 'Ask, or give a task' }).waitFor();
  await page.getByRole('button', { name: 'Skip the tips' }).click();
  await page.locator('.tips').waitFor({ state: 'detached' });
  assert.equal(await page.locator('.pointed-at').count(), 0);
  await page.reload();
  await page.getByRole('heading', { name: 'Ways to search' }).waitFor();
  assert.equal(await page.locator('.tips').count(), 0);
}

/**
 * @param {import('../support/desktop.js').Host} host
 * @param {import('../support/workspace.js').Workspace} place
 * @param {Page} page
 */
export async function search(host, place, page) {
  await page.getByRole('tab', { name: 'Search' }).click();
  assert.deepEqual(await findViolations(page), []);
  await readTips(page);
  await takeScreenshots(page, 'search-start');
  const box = page.locator('#query');
  await box.fill('zzz_nothing_is_called_this lang:rust');
  await page.getByRole('button', { name: /without/i }).waitFor();
  await box.fill('who says hello');
  const first = page.getByRole('article').filter({ hasText: 'greet.py' }).first();
  await first.waitFor();
  await first.locator('mark').first().waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'search');
  await deeper(page, box, first);

  await box.fill('greet file:greet.py');
  await page.waitForFunction(() => document.querySelectorAll('article.result').length === 1);
  await box.press('Enter');
  await page.keyboard.press('Enter');
  const viewer = page.getByRole('region', { name: 'greet.py' });
  await viewer.getByText('Say hello.').waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'viewer');
  await page.keyboard.press('g');
  await page.keyboard.type('2');
  await page.keyboard.press('Enter');
  await viewer.locator('.code-line.hit').filter({ hasText: 'Say hello.' }).waitFor();
  await page.keyboard.press('Escape');
  await viewer.waitFor({ state: 'detached' });

  await box.focus();
  await box.press('Enter');
  await page.keyboard.press('Control+Enter');
  const line = await firstLine(place.edited);
  assert.equal(line, `--goto ${path.join(place.repo, 'greet.py')}:1`);
  await page.keyboard.press('c');
  if (host.kind === 'electron') {
    const { app } = /** @type {any} */ (host);
    await page.getByText('Copied').waitFor();
    const copied = await app.evaluate((/** @type {any} */ { clipboard }) => clipboard.readText());
    assert.equal(copied, 'greet.py:1');
  }
}

/**
 * Asks for accuracy, sees that the second look was taken, and asks for it no more.
 *
 * @param {Page} page
 * @param {import('playwright-core').Locator} box
 * @param {import('playwright-core').Locator} first
 */
async function deeper(page, box, first) {
  const accuracy = page.getByLabel('Deeper ranking');
  await box.fill('');
  await first.waitFor({ state: 'detached' });
  await accuracy.check();
  await box.fill('which function says hello');
  await first.getByRole('button', { name: 'Why is this here?' }).click();
  await first.getByText('Reranking model').waitFor();
  await takeScreenshots(page, 'search-why');
  await accuracy.uncheck();
}

/**
 * What an editor was asked to open, as soon as it was.
 *
 * @param {string} file
 */
async function firstLine(file) {
  const watcher = watch(path.dirname(file));
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    for (;;) {
      // Listened for before the file is read: a change in between would never be told again.
      const changed = once(watcher, 'change', { signal });
      const text = await readFile(file, 'utf8').catch(() => '');
      if (text.includes('\n')) {
        changed.catch(() => {});
        return text.split('\n')[0];
      }
      await changed;
    }
  } finally {
    watcher.close();
  }
}
