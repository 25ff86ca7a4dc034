/** A day with the app, in a real Electron: from a first start to a clean end. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { addRepository, lookAtList } from './stories/first_start.js';
import { watchIndexing } from './stories/indexing.js';
import { survive } from './stories/recovery.js';
import { search, waitUntilIndexed } from './stories/searching.js';
import { changeSettings } from './stories/settings.js';
import { lookAtUsage, talk } from './stories/conversation.js';
import { launchDesktop } from './support/desktop.js';
import { makeWorkspace } from './support/workspace.js';

test('a person adds, searches, asks, loses the kernel, goes on and quits', async (t) => {
  const place = await makeWorkspace(t);
  const host = await launchDesktop(t, place);
  const page = await addRepository(host, place);
  await watchIndexing(place, page);
  await waitUntilIndexed(page);
  await search(host, place, page);
  await changeSettings(host, place, page);
  await page.goBack(); // the settings took the place of the repository
  await talk(host, page);
  await lookAtUsage(page);
  await survive(host, page);
  await page.getByRole('link', { name: 'Repositories' }).click();
  await lookAtList(host);
  assert.deepEqual(host.problems, []);
  assert.equal(await host.quit(), 0);
});
