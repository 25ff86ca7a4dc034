/** What is known of a symbol: who calls it, what it calls, its tests, and its commits. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';

import { waitUntilIndexed } from './stories/searching.js';
import { setAppearance } from './support/appearance.js';
import { findViolations } from './support/axe.js';
import { launchBrowser } from './support/browser.js';
import { takeScreenshots } from './support/screenshots.js';
import { makeWorkspace, settingsFor } from './support/workspace.js';

const FILES = {
  'greet.py': 'from words import hello\n\n\ndef greet(name):\n    return hello() + name\n',
  'words.py': 'def hello():\n    return "Hello, "\n',
  'shout.py': 'from greet import greet\n\n\ndef shout(name):\n    return greet(name).upper()\n',
  'test_greet.py':
    'from greet import greet\n\n\ndef test_it_greets():\n    assert greet("Ada") == "Hello, Ada"\n',
};

/** @param {string} folder @param {...string} words */
function git(folder, ...words) {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
  return promisify(execFile)('git', ['-C', folder, ...who, ...words]);
}

test('callers, callees, tests and commits of a result, by keys alone', async (t) => {
  const place = await makeWorkspace(t, FILES);
  await git(place.repo, 'init', '-q');
  await git(place.repo, 'add', '.');
  await git(place.repo, 'commit', '-qm', 'Greet people by their names');
  const settings = JSON.stringify(settingsFor(place.model.url));
  await writeFile(path.join(place.userData, 'settings.json'), settings);
  const host = await launchBrowser(t, place, { folder: place.repo });
  const page = await host.page('repository');
  await page.setViewportSize({ width: 1440, height: 900 });
  await waitUntilIndexed(page);
  await page.locator('#query').fill('symbol:greet file:greet.py greet');
  await page.getByRole('article').first().waitFor();
  await page.locator('#query').press('Enter');
  await page.keyboard.press('i');
  const panel = page.getByRole('complementary', { name: 'Impact and history' });
  const preview = page.locator('.search-preview .viewer-title');
  await panel.getByRole('button', { name: /^shout shout\.py:5/ }).waitFor();
  await panel.getByRole('button', { name: /^test_it_greets .*test_greet\.py:4/ }).waitFor();
  await panel.getByRole('button', { name: /^hello words\.py:1/ }).waitFor();
  await panel.getByText('Greet people by their names').first().waitFor();
  assert.deepEqual(await findViolations(page), []);

  await panel.getByRole('textbox').focus();
  await page.keyboard.press('ArrowDown'); // the definition, then its callers
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await preview.getByText('shout.py').waitFor();
  await panel.getByRole('button', { name: /^shout/ }).waitFor(); // still about greet
  await page.keyboard.press('b');
  await preview.getByText('greet.py').waitFor();

  await panel.getByRole('textbox').fill('hello');
  await page.keyboard.press('Enter');
  await panel.getByRole('button', { name: /^greet greet\.py:5/ }).waitFor();
  await panel.getByRole('textbox').fill('nobody');
  await page.keyboard.press('Enter');
  await panel.getByText('There is no definition at this place.').waitFor();
  await panel.getByText('Git has no history of this place.').waitFor();
  await page.keyboard.press('Escape'); // back to the list, where the arrows move
  await page.keyboard.press('i');
  await panel.getByRole('button', { name: /^shout/ }).waitFor();

  for (const width of [800, 400]) {
    await page.setViewportSize({ width, height: 800 });
    await page
      .getByRole('article')
      .first()
      .getByRole('button', { name: /greet\.py/ })
      .click();
    const viewer = page.getByRole('dialog');
    await viewer.locator('.code-line').first().waitFor();
    await page.keyboard.press('i');
    await viewer.getByRole('button', { name: /^shout/ }).waitFor();
    const isWider = () => document.documentElement.scrollWidth > window.innerWidth;
    assert.equal(await page.evaluate(isWider), false, String(width));
    assert.deepEqual(await findViolations(page), []);
    await page.keyboard.press('Escape'); // to the source
    await page.keyboard.press('Escape');
    await viewer.waitFor({ state: 'detached' });
  }

  await setAppearance(page, 'light', 'zh');
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole('complementary', { name: '影响与历史' }).getByText('调用者').waitFor();
  await takeScreenshots(page, 'insight');
  assert.deepEqual(host.problems, []);
});
