/** The settings: what is wrong is said where it is wrong; what is right is used at once. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { findViolations } from '../support/axe.js';
import { takeScreenshots } from '../support/screenshots.js';

/**
 * @param {import('../support/desktop.js').Host} host
 * @param {import('../support/workspace.js').Workspace} place
 * @param {import('playwright-core').Page} from a page with the way there
 */
export async function changeSettings(host, place, from) {
  await from.getByRole('link', { name: 'Settings' }).click();
  const page = await host.page('settings');
  const limit = page.getByLabel('Results per search');
  await limit.waitFor();
  await page.getByRole('listitem').filter({ hasText: 'codekernel-static-v3' }).waitFor();
  await page.getByText('trying…').first().waitFor({ state: 'detached' });
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'settings');

  await limit.fill('0');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('This must be at least 1.').waitFor();
  await assert.rejects(settingsFile(place), { code: 'ENOENT' });
  await limit.fill('25');

  await page.getByRole('button', { name: 'Add chat model' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).last().fill('scripted');
  await page.getByLabel('Model', { exact: true }).last().fill('scripted-1');
  await page.getByLabel('Address').fill(place.model.url);
  await page.getByLabel('API key').fill('sk-wrong');
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByText('The model did not answer.').waitFor();
  await page.getByLabel('API key').fill('sk-right');
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByText('The model answered.').waitFor();
  await page.getByLabel('Price, input').fill('1');
  await page.getByLabel('Price, output').fill('2');
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'settings-chat-model');

  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Settings saved and in use').waitFor();
  await page.getByText('key stored').waitFor();
  const saved = await settingsFile(place);
  assert.equal(saved.searchSettings.searchLimit, 25);
  assert.equal(saved.conversationSettings.generationModel[0].url, place.model.url);
  assert.ok(!JSON.stringify(saved).includes('sk-right'));
  return page;
}

/** @param {import('../support/workspace.js').Workspace} place */
async function settingsFile({ userData }) {
  return JSON.parse(await readFile(path.join(userData, 'settings.json'), 'utf8'));
}
