/** The same day in a real browser, against `codekernel web`. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { addRepository, lookAtList } from './stories/first_start.js';
import { watchIndexing } from './stories/indexing.js';
import { indexed, search } from './stories/searching.js';
import { changeSettings } from './stories/settings.js';
import { lookAtUsage, talk } from './stories/talking.js';
import { browser } from './support/browser.js';
import { workplace } from './support/workplace.js';

test('a person adds, searches, asks and looks at the usage', async (t) => {
  const place = await workplace(t);
  const host = await browser(t, place);
  const page = await addRepository(host, place);
  await watchIndexing(place, page);
  await indexed(page);
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
  const place = await workplace(t);
  const host = await browser(t, place, { folder: place.repo });
  const page = await host.page('repository');
  await page.getByRole('heading', { name: 'demo' }).waitFor();
  await indexed(page);
  await page.locator('#query').fill('who says hello');
  await page.getByRole('article').filter({ hasText: 'greet.py' }).first().waitFor();
  process.kill(await host.kernelPid(), 'SIGKILL');
  await page.getByRole('alert').waitFor();
});
