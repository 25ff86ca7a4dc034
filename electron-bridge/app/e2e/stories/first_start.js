/** A first start: nothing is there yet; a person adds a repository. */

import assert from 'node:assert/strict';

import { findViolations } from '../support/axe.js';
import { takeScreenshots } from '../support/screenshots.js';

/**
 * @param {import('../support/desktop.js').Host} host
 * @param {import('../support/workspace.js').Workspace} place
 * @returns {Promise<import('playwright-core').Page>} the repository's page
 */
export async function addRepository(host, place) {
  const page = await host.page('repos');
  await page.getByRole('heading', { name: 'Add the first repository' }).waitFor();
  await page.getByRole('status', { name: 'The kernel runs' }).waitFor({ state: 'attached' });
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'repos-empty');

  await page.getByRole('button', { name: 'Add repository' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a repository' });
  if (host.kind === 'browser') {
    const folders = dialog.getByRole('region', { name: 'Folders of this machine' });
    await folders.getByRole('button', { name: 'To the folder above' }).click();
    await folders.getByRole('button', { name: 'demo' }).click();
    await folders
      .getByText('There are no folders in this one.')
      .or(folders.getByText('src'))
      .first()
      .waitFor();
    assert.equal(await dialog.getByLabel('Folder', { exact: true }).inputValue(), place.repo);
  }
  await dialog.getByLabel('Folder', { exact: true }).fill('not/a/whole/path');
  await dialog.getByRole('button', { name: 'Add and open' }).click();
  await dialog.getByText('Give the whole path, from the root on.').waitFor();

  await dialog.getByLabel('Folder', { exact: true }).fill(`${place.repo}-gone`);
  await dialog.getByRole('button', { name: 'Add and open' }).click();
  await dialog.getByText('That is not a folder that can be used.').waitFor();

  await dialog.getByLabel('Folder', { exact: true }).fill(place.repo);
  // By their names: that picture.bin is no text is seen when it is read.
  await dialog.getByText('Up to 5 files will be indexed').waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'repos-add', ['en']);
  await dialog.getByRole('button', { name: 'Add and open' }).click();
  return host.page('repository');
}

/**
 * The list as it looks when there is something on it.
 *
 * @param {import('../support/desktop.js').Host} host
 */
export async function lookAtList(host) {
  const page = await host.page('repos');
  await page.getByRole('link', { name: /^demo/ }).waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'repos');
}
