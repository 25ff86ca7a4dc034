/** Every page fits its window and shuts nobody out: wide, zoomed, half a screen, as narrow as a phone. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';

import { waitUntilIndexed } from './stories/searching.js';
import { findViolations } from './support/axe.js';
import { launchBrowser } from './support/browser.js';
import { PROJECT, python } from './support/programs.js';
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
  await learnLanguage(page, path.join(place.folder, 'languages'));
  assert.deepEqual(host.problems, []);
});

/**
 * A third language is one file, and the list that is made of it.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} folder
 */
async function learnLanguage(page, folder) {
  await mkdir(folder);
  const texts = { 'repos.title': 'Deponejoj', 'repos.add': 'Aldoni deponejon' };
  const file = { code: 'eo', locale: 'eo', name: 'Esperanto', texts };
  await writeFile(path.join(folder, 'eo.js'), `export default ${JSON.stringify(file)};\n`);
  const make =
    'import sys; from pathlib import Path; sys.path.insert(0, "scripts");' +
    'from make_bridge_types import generate_languages;' +
    'folder = Path(sys.argv[1]); (folder / "index.js").write_text(generate_languages(folder))';
  await promisify(execFile)(python(), ['-c', make, folder], { cwd: PROJECT });
  for (const name of ['index.js', 'eo.js']) {
    const content = { path: path.join(folder, name), contentType: 'text/javascript' };
    await page.route(`**/languages/${name}`, (route) => route.fulfill(content));
  }
  await page.goto(new URL('/repos.html', page.url()).href);
  await page.getByRole('combobox', { name: 'Language' }).selectOption('Esperanto');
  await page.getByRole('heading', { name: 'Deponejoj', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Aldoni deponejon' }).waitFor();
  await page.getByRole('link', { name: 'Settings' }).waitFor(); // what it does not say is English
  await page.reload();
  await page.getByRole('heading', { name: 'Deponejoj', level: 1 }).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'eo');
  for (const size of SIZES) {
    await page.setViewportSize(size);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `the bar with a choice of languages at ${size.width}: ${wide} too wide`);
  }
}
