/** The index: how far it is, what was left out and why, and a pause. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import { findViolations } from '../support/axe.js';
import { takeScreenshots } from '../support/screenshots.js';

/**
 * @param {import('../support/workspace.js').Workspace} place
 * @param {import('playwright-core').Page} page
 */
export async function watchIndexing(place, page) {
  await page.getByRole('tab', { name: 'Index' }).click();
  await page.getByRole('heading', { name: /^Everything is indexed: 4 files/ }).waitFor();

  await page.getByRole('button', { name: /^binary/ }).waitFor();
  await page.getByRole('button', { name: 'Show files' }).click();
  await page.getByText('picture.bin').first().waitFor();
  assert.deepEqual(await findViolations(page), []);

  await page.getByRole('button', { name: 'Pause' }).click();
  const resume = page.getByRole('button', { name: 'Resume' });
  await resume.waitFor();
  await writeFile(path.join(place.repo, 'later.py'), 'def later():\n    return "paused"\n');
  await page.getByRole('heading', { name: /^Paused/ }).waitFor();
  await takeScreenshots(page, 'index-paused');
  await resume.click();
  await page.getByRole('heading', { name: /^Everything is indexed: 5 files/ }).waitFor();
  await page.getByText('later.py').first().waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'index');
}
