/** What goes wrong is said in one sentence with one action that works. */

import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import test from 'node:test';

import { findViolations } from './support/axe.js';
import { waitUntilIndexed } from './stories/searching.js';
import { launchBrowser } from './support/browser.js';
import { makeWorkspace, settingsFor } from './support/workspace.js';

/** Answers like a provider that does not know the key. @param {import('node:test').TestContext} t */
async function refusingModel(t) {
  const server = http.createServer((_request, response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end('{"error":{"message":"invalid key"}}');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const close = () => server.closeAllConnections() ?? server.close();
  t.after(close);
  return { url: `http://127.0.0.1:${port}/v1`, close };
}

test('a refused key, a model server that is down, a folder that is gone, no kernel', async (t) => {
  const place = await makeWorkspace(t);
  const model = await refusingModel(t);
  const settings = JSON.stringify(settingsFor(model.url));
  await writeFile(path.join(place.userData, 'settings.json'), settings);
  const host = await launchBrowser(t, place, { folder: place.repo });
  const page = await host.page('repository');
  await waitUntilIndexed(page);
  await page.getByRole('tab', { name: 'Conversation' }).click();
  const box = page.locator('#question');
  await box.fill('Where is the greeting made?');
  await box.press('Enter');
  const refused = page.locator('[data-kind=key]');
  await refused.getByText('The provider refuses the key').waitFor();
  await refused.getByRole('link', { name: 'Settings of the models' }).waitFor();
  assert.equal(await page.getByRole('alert').count(), 1);
  assert.deepEqual(await findViolations(page), []);

  model.close();
  await box.fill('And now?');
  await box.press('Enter');
  const down = page.locator('[data-kind=down]');
  await down.getByText('The model server does not run').waitFor();
  await down.getByText('What exactly').click();
  await down.getByText('refused the connection').waitFor();
  await down.getByRole('button', { name: 'Ask again' }).click();
  await page.locator('[data-kind=down]').nth(1).waitFor();

  await page.getByRole('tab', { name: 'Search' }).click();
  await page.locator('#query').fill('who says hello');
  const found = page.getByRole('article').filter({ hasText: 'greet.py' }).first();
  await found.waitFor();
  await rename(place.repo, `${place.repo}-away`);
  await found.getByRole('button', { name: /greet\.py/ }).click();
  const viewer = page.getByRole('dialog');
  await viewer.getByText('This file is not there any more').waitFor();
  await viewer.getByText('Say hello.').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('#query').fill('who shouts');
  const gone = page.getByRole('alert').filter({ hasText: 'The folder of this repository' });
  await gone.waitFor();
  assert.equal(await page.getByRole('alert').count(), 1);
  await page.getByRole('tab', { name: 'Conversation' }).click();
  await box.fill('And without the folder?');
  await box.press('Enter');
  const nowhere = page.locator('[data-kind=folder]');
  await nowhere.getByRole('link', { name: 'Repositories' }).waitFor();
  await rename(`${place.repo}-away`, place.repo);
  await page.getByRole('tab', { name: 'Search' }).click();
  await gone.getByRole('button', { name: 'Try again' }).click();
  await gone.waitFor({ state: 'detached' });
  assert.deepEqual(host.problems, []);

  await page.getByRole('link', { name: 'Repositories' }).click();
  host.stop(); // in order, so that nobody waits for it to come back
  const stopped = page.getByRole('alert').filter({ hasText: 'The kernel has been stopped.' });
  await stopped.getByText('codekernel web in a terminal').waitFor();
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  assert.equal(await page.getByRole('alert').count(), 1);
  assert.deepEqual(await findViolations(page), []);
});
