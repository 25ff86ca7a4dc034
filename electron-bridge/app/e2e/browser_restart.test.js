/** An open tab when the kernel, or `codekernel web` itself, is killed and comes back. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import test from 'node:test';

import { waitUntilIndexed } from './stories/searching.js';
import { launchBrowser, startServer } from './support/browser.js';
import { PROJECT, python } from './support/programs.js';
import { makeWorkspace } from './support/workspace.js';

/** @typedef {import('playwright-core').Page} Page */

test('a tab goes on when the kernel is killed', async (t) => {
  const { place, page } = await openTab(t);
  for (let round = 0; round < 2; round += 1) {
    const before = kernelPid(place);
    process.kill(before, 'SIGKILL');
    await searches(page, `who says hello ${round}`);
    assert.notEqual(kernelPid(place), before);
  }
  await page.getByText('files indexed').first().waitFor();
});

test('a tab comes back when codekernel web does, let in by the tab that is opened then', async (t) => {
  const { host, place, page } = await openTab(t);
  await host.kill();
  await page.getByRole('alert').waitFor();
  const again = await startServer(t, place, place.repo);
  assert.equal(new URL(again.address).port, new URL(host.address).port);
  const other = await page.context().newPage();
  await other.goto(again.address);
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await searches(page, 'who says hello again');

  // It has stopped in order, which a tab does not wait for; it comes back all the same.
  again.server.kill('SIGINT');
  assert.equal(await again.ended, 0);
  await page.getByRole('alert').waitFor();
  const third = await startServer(t, place, place.repo);
  await other.goto(third.address);
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await searches(page, 'who says hello at last');
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
  t.after(() => codekernel(place, 'stop'));
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
  await page.getByRole('article').filter({ hasText: 'greet.py' }).first().waitFor();
}

/**
 * @param {import('./support/workspace.js').Workspace} place
 * @param {string[]} words
 */
function codekernel(place, ...words) {
  const env = { ...place.environ, PYTHONPATH: path.join(PROJECT, 'kernel') };
  try {
    return execFileSync(python(), ['-m', 'codekernel', ...words], { env, encoding: 'utf8' });
  } catch {
    return ''; // none is running
  }
}

/** @param {import('./support/workspace.js').Workspace} place */
function kernelPid(place) {
  return JSON.parse(codekernel(place, 'status', '--json')).pid;
}
