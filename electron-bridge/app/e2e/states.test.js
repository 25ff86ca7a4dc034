/** What goes wrong is said in one sentence with one action that works. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
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

test('a refused key and a model server that is down', async (t) => {
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
  assert.deepEqual(host.problems, []);
});
