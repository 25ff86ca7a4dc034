/** Ten thousand results and a hundred thousand tokens do not freeze the page. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { waitUntilIndexed } from './stories/searching.js';
import { launchBrowser } from './support/browser.js';
import { launchDesktop } from './support/desktop.js';
import { largeRepository } from './support/large_repository.js';
import { measureTasks } from './support/longest_task.js';
import { PART_TOKENS } from './support/scripted_model.js';
import { writeFiles, settingsFor, makeWorkspace } from './support/workspace.js';

const RESULTS = 10_000;
const TOKENS = 100_000;
// The pages are the same in both; what differs is the way there. `scripts/test.py full` sends all.
const TOKENS_IN_A_BROWSER = process.env.CODEKERNEL_FULL_TESTS === '1' ? TOKENS : 20_000;

/** A page with a repository open, its index made. */
async function opened(t, start, files) {
  const place = await makeWorkspace(t);
  if (files) await writeFiles(place.repo, files);
  const settings = JSON.stringify(settingsFor(place.model.url, { searchLimit: 1000 }));
  await writeFile(path.join(place.userData, 'settings.json'), settings);
  const host = await start(t, place);
  const list = await host.page('repos');
  await list.evaluate(
    (folder) => window.kernel.createRepo({ repoName: 'demo', path: folder }),
    place.repo,
  );
  await list.reload();
  if (host.kind === 'electron') await noteProgress(host);
  await list.getByRole('link', { name: /^demo/ }).click();
  const page = await host.page('repository');
  await waitUntilIndexed(page);
  return { host, page };
}

/** Listen to what the taskbar is told, which nobody can ask for. */
function noteProgress({ app }) {
  return app.evaluate(({ BrowserWindow }) => {
    const [window] = BrowserWindow.getAllWindows();
    const show = window.setProgressBar.bind(window);
    const shown = /** @type {number[]} */ ([]);
    window.setProgressBar = (share) => {
      shown.push(share);
      show(share);
      if (share === -1) Reflect.get(globalThis, 'progressEnded')?.();
    };
    Object.assign(globalThis, { progressShown: shown });
  });
}

/** What the taskbar was told until the work was done. @returns {Promise<number[]>} */
function endOfProgress({ app }) {
  return app.evaluate(async () => {
    const shown = Reflect.get(globalThis, 'progressShown');
    if (shown.at(-1) !== -1) {
      await new Promise((resolve) => Object.assign(globalThis, { progressEnded: resolve }));
    }
    return shown;
  });
}

test('ten thousand results are shown, scrolled and walked through', async (t) => {
  const { host, page } = await opened(t, launchDesktop, largeRepository());
  const progress = await endOfProgress(host);
  assert.ok(
    progress.some((share) => share > 0 && share < 1),
    String(progress),
  );

  // The kernel gives a thousand at most; here each of them comes ten times.
  await host.app.evaluate(({ ipcMain }) => {
    const handlers = /** @type {any} */ (ipcMain)._invokeHandlers;
    const answer = handlers.get('codekernel:call');
    handlers.set('codekernel:call', async (event, call, fields) => {
      const reply = await answer(event, call, fields);
      if (call !== 'search' || !reply.data) return reply;
      const results = Array.from({ length: 10 }, (_, copy) =>
        reply.data.results.map((one) => ({ ...one, chunkId: one.chunkId * 10 + copy })),
      ).flat();
      return { data: { ...reply.data, results } };
    });
  });
  const longest = await measureTasks(page);
  await page.locator('#query').fill('greeting');
  await page.waitForFunction(
    (count) =>
      document
        .querySelector('.search-count')
        ?.textContent?.replace(/\D/g, '')
        .startsWith(String(count)),
    RESULTS,
  );
  await page.getByRole('article').first().waitFor();
  t.diagnostic(`figure: ${RESULTS} results, longest task ${Math.round(await longest())} ms`);
  const scrolled = await measureTasks(page);
  await page.locator('#query').press('Enter');
  await page.keyboard.press('End');
  await page.waitForFunction(() => document.activeElement?.textContent?.includes('greeting'));
  for (let step = 0; step < 20; step += 1) await page.keyboard.press('PageUp');
  t.diagnostic(`figure: walking through them, longest task ${Math.round(await scrolled())} ms`);
  assert.ok((await page.getByRole('article').count()) < 200, 'all of them are in the page');
  assert.deepEqual(host.problems, []);
});

for (const [name, start, tokens] of /** @type {const} */ ([
  ['Electron', launchDesktop, TOKENS],
  ['a browser', launchBrowser, TOKENS_IN_A_BROWSER],
])) {
  test(`an answer of ${tokens} tokens is shown in ${name}`, async (t) => {
    const { host, page } = await opened(t, start, null);
    await page.getByRole('tab', { name: 'Conversation' }).click();
    const longest = await measureTasks(page);
    const begin = performance.now();
    await page.locator('#question').fill(`Write something very long: ${tokens} tokens.`);
    await page.locator('#question').press('Enter');
    await page.locator('.answer-foot').waitFor({ timeout: 240_000 });
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    const last = `Part ${tokens / PART_TOKENS - 1}`;
    await page.getByRole('heading', { name: last }).waitFor({ state: 'attached' });
    const task = Math.round(await longest());
    t.diagnostic(`figure: ${tokens} tokens in ${name} in ${seconds} s, longest task ${task} ms`);
    assert.deepEqual(host.problems, []);
  });
}
