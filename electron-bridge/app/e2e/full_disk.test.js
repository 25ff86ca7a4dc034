/** A disk that fills up under an open page, and has room again. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFile, rm, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { waitUntilIndexed } from './stories/searching.js';
import { findViolations } from './support/axe.js';
import { launchBrowser } from './support/browser.js';
import { makeWorkspace, settingsFor } from './support/workspace.js';

const DISK_BYTES = 48_000_000;

/** Whether a small disk was mounted, which only root may. @param {string} folder */
function mountSmallDisk(folder) {
  const words = ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', folder];
  return spawnSync('mount', words).status === 0;
}

/** Leaves no byte, whatever was given back meanwhile. @param {string} folder */
async function fill(folder) {
  const { bavail, bsize } = await statfs(folder);
  await appendFile(path.join(folder, 'ballast'), Buffer.alloc(bavail * bsize));
}

test('a full disk is named in one sentence, searches go on, and so does indexing later', async (t) => {
  /** @type {string[]} */
  const mounted = [];
  t.after(() => mounted.map((folder) => spawnSync('umount', ['-l', folder]))); // before it is deleted
  const place = await makeWorkspace(t);
  if (!mountSmallDisk(place.userData)) return t.skip('only root may mount a disk');
  mounted.push(place.userData);
  const settings = JSON.stringify(settingsFor(place.model.url));
  await writeFile(path.join(place.userData, 'settings.json'), settings);
  const host = await launchBrowser(t, place, { folder: place.repo });
  const page = await host.page('repository');
  await waitUntilIndexed(page);

  await fill(place.userData);
  await writeFile(path.join(place.repo, 'later.py'), 'def whisper():\n    return "psst"\n');
  const full = page.getByRole('alert').filter({ hasText: 'The disk is full' });
  await full.getByText('Free some space').waitFor();
  await page.getByRole('button', { name: 'The disk is full' }).waitFor();
  await page.locator('#query').fill('who says hello');
  await page.getByRole('article').filter({ hasText: 'greet.py' }).first().waitFor();
  await page.getByRole('tab', { name: 'Index' }).click();
  await page.getByRole('heading', { name: 'The disk is full' }).waitFor();
  assert.equal(await page.getByRole('alert').count(), 1);
  assert.deepEqual(await findViolations(page), []);

  await full.getByRole('button', { name: 'Try again' }).click(); // once there is room it goes by itself
  await rm(path.join(place.userData, 'ballast'));
  await full.waitFor({ state: 'detached' });
  await waitUntilIndexed(page);
  await page.getByRole('tab', { name: 'Search' }).click();
  await page.locator('#query').fill('whisper');
  await page.getByRole('article').filter({ hasText: 'later.py' }).first().waitFor();
  assert.deepEqual(host.problems, []);
  await host.quit();
});
