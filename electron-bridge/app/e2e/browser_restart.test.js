/** An open tab when the kernel, or `codekernel web` itself, is killed and comes back. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { waitUntilIndexed } from './stories/searching.js';
import { findViolations } from './support/axe.js';
import { launchBrowser, startServer } from './support/browser.js';
import { kernelStatus } from './support/terminal.js';
import { makeWorkspace, settingsFor } from './support/workspace.js';

/** @typedef {import('playwright-core').Page} Page */

test('a tab goes on when the kernel is killed', async (t) => {
  const { place, page } = await openTab(t);
  for (let round = 0; round < 2; round += 1) {
    const before = (await kernelStatus(place)).pid;
    process.kill(before, 'SIGKILL');
    await searches(page, `who says hello ${round}`);
    assert.notEqual((await kernelStatus(place)).pid, before);
  }
  await page.getByText('files indexed').first().waitFor();
});

test('a tab comes back when codekernel web does, let in by the tab that is opened then', async (t) => {
  const { host, place, page } = await openTab(t);
  await host.kill();
  await banner(page).waitFor();
  const again = await startServer(t, place, place.repo);
  assert.equal(new URL(again.address).port, new URL(host.address).port);
  const other = await page.context().newPage();
  await other.goto(again.address);
  await banner(page).waitFor({ state: 'detached' });
  await searches(page, 'who says hello again');

  // It has stopped in order, which a tab does not wait for; it comes back all the same.
  again.server.kill('SIGINT');
  assert.equal(await again.ended, 0);
  await banner(page).waitFor();
  const third = await startServer(t, place, place.repo);
  await other.goto(third.address);
  await banner(page).waitFor({ state: 'detached' });
  await searches(page, 'who says hello at last');
});

test('answers go on without the browser, and every page says so and leads there', async (t) => {
  const { host, page, place } = await openTab(t);
  const settings = JSON.stringify(settingsFor(place.model.url));
  await writeFile(path.join(place.userData, 'settings.json'), settings);
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.evaluate(() => window.kernel.updateSettings());
  await page.goto(new URL('repository.html?repo=demo#talk', host.address).href);
  for (const number of [1, 2]) {
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await page.locator('#question').fill(`Tell me ${number} without end.`);
    await page.locator('#question').press('Enter');
    await page.getByText('Sentence 2 of many.').waitFor();
  }
  const other = await host.reopen();
  await other.goto(new URL('repos.html', host.address).href);
  const list = other.getByRole('list', { name: '2 at work' });
  await other.getByRole('button', { name: '2 at work' }).click();
  assert.deepEqual(await findViolations(other), []);
  await list.getByRole('link', { name: /^demo answer Tell me 1/ }).click();
  const answer = other.getByRole('article').first();
  const asked = other.locator('.question-text');
  await asked.getByText('Tell me 1 without end.').waitFor();
  await answer.getByText('Sentence 50 of many.').waitFor();
  await other.getByRole('button', { name: 'Stop' }).click();
  await other.getByRole('link', { name: '1 at work' }).click();
  await asked.getByText('Tell me 2 without end.').waitFor();
  await other.getByRole('button', { name: 'Stop' }).click();
  await other.getByRole('link', { name: '1 at work' }).waitFor({ state: 'detached' });
});

test('the secret of a run that has ended lets nobody in', async (t) => {
  const { host, place, page } = await openTab(t);
  await host.kill();
  await startServer(t, place, place.repo);
  const opened = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const secret = localStorage.getItem('codekernel.pageSecret') ?? '';
        const socket = new WebSocket(`ws://${location.host}/kernel`, ['codekernel', secret]);
        socket.addEventListener('open', () => resolve(true));
        socket.addEventListener('error', () => resolve(false));
      }),
  );
  assert.equal(opened, false);
});

/** @param {import('node:test').TestContext} t */
async function openTab(t) {
  const place = await makeWorkspace(t);
  const host = await launchBrowser(t, place, { folder: place.repo });
  const page = await host.page('repository');
  await waitUntilIndexed(page);
  await searches(page, 'who says hello');
  return { place, host, page };
}

/**
 * @param {Page} page
 * @param {string} query
 */
async function searches(page, query) {
  await page.locator('#query').fill(query);
  // What the page shows may be the answer to the query before.
  const { results } = await page.evaluate((text) => window.kernel.search({ query: text }), query);
  assert.equal(results[0].filePath, 'greet.py');
  await page.getByRole('article').filter({ hasText: 'greet.py' }).first().waitFor();
}

/** @param {Page} page */
function banner(page) {
  return page.locator('.session-banner, .kernel-banner');
}
