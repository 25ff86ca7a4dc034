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

  await page.getByRole('button', { name: 'Discard changes' }).click();
  await addChatModel(page, place.model.url);
  await limit.fill('25');
  await page.getByText('scripted', { exact: true }).click();
  await page.getByRole('button', { name: 'Test', exact: true }).click();
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

/**
 * In one dialog: where the model is, its key, which one; tried before it is saved.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} url
 */
async function addChatModel(page, url) {
  await page.getByRole('button', { name: 'Add chat model' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add chat model' });
  await dialog.getByRole('radio', { name: 'OpenAI' }).check();
  await dialog.getByRole('link', { name: 'Get a key at platform.openai.com' }).waitFor();
  await dialog.getByRole('radio', { name: 'Other endpoint' }).check();
  await dialog.getByLabel('Address').fill(url);
  await dialog.getByLabel('API key').fill('sk-wrong');
  await dialog.getByRole('button', { name: 'List models' }).click();
  await dialog.getByText('refused the key').waitFor();
  await dialog.getByLabel('API key').fill('sk-right');
  await dialog.getByRole('button', { name: 'List models' }).click();
  await dialog.getByRole('button', { name: 'scripted-1' }).click();
  await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('scripted');
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'settings-add-model');
  await dialog.getByRole('button', { name: 'Test and add' }).click();
  await page.getByText('scripted is added and in use').waitFor();
}

/** @param {import('../support/workspace.js').Workspace} place */
async function settingsFile({ userData }) {
  return JSON.parse(await readFile(path.join(userData, 'settings.json'), 'utf8'));
}
