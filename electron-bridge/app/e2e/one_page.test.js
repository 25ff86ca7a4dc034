/** One application: nothing is loaded again, and nothing that is at work ends because one looks away. */

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { waitUntilIndexed } from './stories/searching.js';
import { findViolations } from './support/axe.js';
import { launchBrowser } from './support/browser.js';
import { launchDesktop } from './support/desktop.js';
import { makeWorkspace, settingsFor } from './support/workspace.js';

/**
 * A window with a repository open, its index made, and another one to go to.
 *
 * @param {import('node:test').TestContext} t
 * @param {typeof launchBrowser | typeof launchDesktop} start
 */
async function opened(t, start) {
  const place = await makeWorkspace(t);
  const other = path.join(place.folder, 'other');
  await mkdir(other);
  await writeFile(path.join(other, 'else.py'), 'def something_else():\n    return 1\n');
  const settings = JSON.stringify(settingsFor(place.model.url));
  await writeFile(path.join(place.userData, 'settings.json'), settings);
  const host = await start(t, place);
  const page = await host.page('repos');
  await page.evaluate(
    async (folders) => {
      for (const folder of folders) await window.kernel.registerFolder({ path: folder });
      Object.assign(window, { isSamePage: true });
    },
    [place.repo, other],
  );
  await page.getByRole('link', { name: /^demo/ }).click();
  await waitUntilIndexed(page);
  return { host, page, place };
}

test('a result becomes a chip of the next question', async (t) => {
  const { page } = await opened(t, launchBrowser);
  await page.locator('#query').fill('who says hello');
  const found = page.getByRole('article').filter({ hasText: 'greet.py' }).first();
  await found.getByRole('button', { name: 'Ask about this' }).click();
  const question = page.locator('#question');
  await question.waitFor();
  assert.match(await question.inputValue(), /^@greet\.py:1-\d+ $/);
  await page.getByRole('list', { name: 'Named in the question' }).getByText('greet.py').waitFor();
});

test('a search in all repositories leads into the one that has the result', async (t) => {
  const { page } = await opened(t, launchBrowser);
  await page.getByRole('combobox', { name: 'Search in' }).selectOption('*');
  await page.locator('#query').fill('something_else');
  const found = page.getByRole('article').filter({ hasText: 'else.py' });
  await found.getByText('other', { exact: true }).waitFor();
  assert.deepEqual(await findViolations(page), []);
  await page.waitForURL((url) => url.searchParams.get('in') === '*');
  await found.getByRole('button', { name: /else\.py/ }).click();
  await page.getByRole('heading', { name: 'other' }).waitFor();
  await found.first().waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'demo' }).waitFor();
  assert.match(page.url(), /repo=demo&q=something_else&in=\*/);
});

/**
 * What stands above the window, and in the taskbar.
 *
 * @param {any} host
 * @param {string} title
 */
function hasTitle({ app }, title) {
  return app.evaluate(
    (/** @type {any} */ { BrowserWindow }, /** @type {string} */ wanted) =>
      new Promise((resolve) => {
        const [window] = BrowserWindow.getAllWindows();
        const look = () =>
          window.getTitle() === wanted
            ? resolve(true)
            : window.once('page-title-updated', () => setImmediate(look));
        look();
      }),
    title,
  );
}

for (const start of [launchBrowser, launchDesktop]) {
  test(`${start.name}: an answer goes on while one is elsewhere, and the address remembers`, async (t) => {
    const { host, page } = await opened(t, start);
    const box = page.locator('#query');
    const first = page.getByRole('article').filter({ hasText: 'greet.py' }).first();
    await box.fill('who says hello');
    await first.waitFor();

    await page.getByRole('tab', { name: 'Conversation' }).click();
    const question = page.locator('#question');
    await question.fill('Tell me without end.');
    await question.press('Enter');
    const answer = page.getByRole('article').first();
    await answer.getByText('Find the greeting').waitFor();
    const running = page.getByRole('link', { name: '1 at work' });
    await running.waitFor();
    await page.waitForURL((url) => url.searchParams.has('talk'));
    if (host.kind === 'electron') await hasTitle(host, '(1) demo · codekernel');

    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Repositories' }).click();
    await page.getByRole('link', { name: /^other/ }).click();
    await page.getByRole('heading', { name: 'other', level: 1 }).waitFor();
    await waitUntilIndexed(page);
    assert.deepEqual(await findViolations(page), []);
    const length = () => answer.evaluate((element) => element.textContent?.length ?? 0);

    await running.click();
    await page.getByRole('heading', { name: 'demo', level: 1 }).waitFor();
    await answer.waitFor();
    const before = await length();
    await page.waitForFunction(
      (known) => (document.querySelector('.turns article')?.textContent?.length ?? 0) > known,
      before,
    );
    await page.getByRole('button', { name: 'Stop' }).click();
    await running.waitFor({ state: 'detached' });

    await page.getByRole('tab', { name: 'Search' }).click();
    await first.waitFor();
    assert.equal(await box.inputValue(), 'who says hello');
    assert.equal(await page.evaluate(() => Reflect.get(window, 'isSamePage')), true);
    await page.reload();
    await first.waitFor();
    assert.equal(await box.inputValue(), 'who says hello');
    await page.goBack();
    await answer.waitFor();
    await page.goForward();
    await first.waitFor();
    assert.deepEqual(host.problems, []);
  });
}

test('results are read beside the list, narrowed down, and anything is one key away', async (t) => {
  const { host, page } = await opened(t, launchBrowser);
  await page.setViewportSize({ width: 1440, height: 900 });
  const box = page.locator('#query');
  await box.fill('greet');
  const results = page.getByRole('article');
  const preview = page.locator('.search-preview');
  await preview.getByRole('region').waitFor();
  await box.press('Enter');
  const shown = () => preview.locator('.viewer-title').textContent();
  const first = await shown();
  await page.keyboard.press('ArrowDown');
  await page.waitForFunction(
    (known) => document.querySelector('.search-preview .viewer-title')?.textContent !== known,
    first,
  );
  await page.waitForURL((url) => url.searchParams.has('at'));
  assert.deepEqual(await findViolations(page), []);
  const second = await shown();
  await page.reload();
  await page.waitForFunction(
    (known) => document.querySelector('.search-preview .viewer-title')?.textContent === known,
    second,
  );

  await page.getByRole('button', { name: /^typescript/ }).click();
  assert.equal(await box.inputValue(), 'greet lang:typescript');
  await page.waitForFunction(
    () => !document.querySelector('.result-list')?.textContent?.includes('greet.py'),
  );
  await page.getByRole('button', { name: 'Save this search' }).click();
  await box.fill('');
  await page.getByRole('button', { name: 'greet lang:typescript' }).waitFor();

  await box.fill('/gr\\w+t\\(/');
  await results.first().getByText('exact').waitFor();
  await results.first().locator('mark').first().waitFor();

  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Go to anything' });
  await palette.getByRole('combobox').fill('shou');
  await palette.getByRole('option', { name: /shout src\/shout\.ts:3/ }).waitFor();
  assert.deepEqual(await findViolations(page), []);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('region', { name: 'src/shout.ts' }).waitFor();
  await page.keyboard.press('Escape');

  await page.getByRole('tab', { name: 'Index' }).click();
  await page.getByRole('button', { name: /^src\/.*1 file/ }).click();
  await page.getByRole('button', { name: /^shout\.ts.*1 file/ }).waitFor();
  assert.deepEqual(await findViolations(page), []);
  await page.goBack();
  await page.getByRole('button', { name: /^src\/.*1 file/ }).waitFor();
  await page.setViewportSize({ width: 400, height: 800 });
  const isWider = () => document.documentElement.scrollWidth > window.innerWidth;
  for (const name of ['Search', 'Index']) {
    await page.getByRole('tab', { name }).click();
    assert.equal(await page.evaluate(isWider), false, name);
  }
  assert.deepEqual(host.problems, []);
});
