/** Every page fits its window and shuts nobody out: wide, zoomed, half a screen, as narrow as a phone. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { waitUntilIndexed } from './stories/searching.js';
import { findViolations } from './support/axe.js';
import { launchBrowser } from './support/browser.js';
import { makeWorkspace, settingsFor, writeFiles } from './support/workspace.js';

const LONG_LINE = `greeting = "${'hello '.repeat(80)}"  # greet\n`;
/** What a page of 1440 pixels is at 150 % is 960 wide. */
const SIZES = [
  { width: 1440, height: 900 },
  { width: 960, height: 600 },
  { width: 800, height: 700 },
  { width: 400, height: 800 },
];
const ADDRESSES = [
  'repos.html',
  'repository.html?repo=demo#search',
  'repository.html?repo=demo&q=greet#search',
  'repository.html?repo=demo#talk',
  'repository.html?repo=demo#index',
  'repository.html?repo=demo#usage',
  'settings.html',
];

test('every page fits, and axe finds nothing in it, in both themes', async (t) => {
  const place = await makeWorkspace(t);
  await writeFiles(place.repo, { 'long.py': LONG_LINE });
  const settings = JSON.stringify(settingsFor(place.model.url));
  await writeFile(path.join(place.userData, 'settings.json'), settings);
  const host = await launchBrowser(t, place, { folder: place.repo });
  const page = await host.page('repository');
  await waitUntilIndexed(page);
  for (const address of ADDRESSES) {
    await page.goto(new URL(`/${address}`, page.url()).href);
    await page.locator('main h1, main .panel:not([hidden]) .panel-body > *').first().waitFor();
    if (address.includes('q=')) await page.getByRole('article').first().waitFor();
    for (const size of SIZES) {
      await page.setViewportSize(size);
      const [wide, tall] = await page.evaluate(() => {
        const { scrollWidth, scrollHeight } = document.documentElement;
        const isFilling = document.body.classList.contains('repository-page');
        return [scrollWidth - innerWidth, isFilling ? scrollHeight - innerHeight : 0];
      });
      assert.ok(wide <= 0 && tall <= 0, `${address} at ${size.width}: ${wide}, ${tall} too large`);
      assert.deepEqual(await findViolations(page), [], `${address} at ${size.width}`);
    }
    await page.setViewportSize(SIZES[0]);
    assert.deepEqual(await findViolations(page, 'dark'), [], `${address}, dark`);
  }
  assert.deepEqual(host.problems, []);
});
