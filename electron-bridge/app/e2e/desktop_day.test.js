/** A day with the app, in a real Electron: from a first start to a clean end. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { addRepository, lookAtList } from './stories/first_start.js';
import { watchIndexing } from './stories/indexing.js';
import { survive } from './stories/recovery.js';
import { search, indexed } from './stories/searching.js';
import { changeSettings } from './stories/settings.js';
import { lookAtUsage, talk } from './stories/talking.js';
import { desktop } from './support/desktop.js';
import { workplace } from './support/workplace.js';

test('a person adds, searches, asks, loses the kernel, goes on and quits', async (t) => {
  const place = await workplace(t);
  const host = await desktop(t, place);
  const page = await addRepository(host, place);
  await watchIndexing(place, page);
  await indexed(page);
  await search(host, place, page);
  await changeSettings(host, place, page);
  await page.bringToFront();
  await talk(host, page);
  await lookAtUsage(page);
  await survive(host, page);
  await lookAtList(host);
  assert.deepEqual(host.problems, []);
  assert.equal(await host.quit(), 0);
});
