/** The same day in a real browser, against `codekernel web`. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { addRepository, lookAtList } from './stories/first_start.js';
import { watchIndexing } from './stories/indexing.js';
import { waitUntilIndexed, search } from './stories/searching.js';
import { changeSettings } from './stories/settings.js';
import { lookAtUsage, talk } from './stories/conversation.js';
import { launchBrowser } from './support/browser.js';
import { makeWorkspace } from './support/workspace.js';

test('a person adds, searches, asks and looks at the usage', async (t) => {
  const place = await makeWorkspace(t);
  const host = await launchBrowser(t, place);
  const page = await addRepository(host, place);
  await watchIndexing(place, page);
  await waitUntilIndexed(page);
  await search(host, place, page);
  await changeSettings(host, place, page);
  await page.goto(new URL('/repository.html?repo=demo', page.url()).href);
  await talk(host, page);
  await lookAtUsage(page);
  await page.getByRole('link', { name: 'Repositories' }).click();
  await lookAtList(host);
  assert.deepEqual(host.problems, []);
  assert.equal(await host.quit(), 0);
});

test('who stands in a repository sees it at once', async (t) => {
  const place = await makeWorkspace(t);
  const host = await launchBrowser(t, place, { folder: place.repo });
  const page = await host.page('repository');
  await page.getByRole('heading', { name: 'demo' }).waitFor();
  await waitUntilIndexed(page);
  await page.locator('#query').fill('who says hello');
  await page.getByRole('article').filter({ hasText: 'greet.py' }).first().waitFor();
  process.kill(await host.kernelPid(), 'SIGKILL');
  await page.getByRole('alert').waitFor();
});
