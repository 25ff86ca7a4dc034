/**
 * Measures the pages in a real Chromium, or in Electron, on a folder: first paint, page change,
 * keystroke to results, memory. `python scripts/bench.py pages FOLDER [--desktop]` runs it.
 */

import { writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { waitUntilIndexed } from '../stories/searching.js';
import { launchBrowser } from '../support/browser.js';
import { launchDesktop } from '../support/desktop.js';
import { measureTasks } from '../support/longest_task.js';
import { makeWorkspace, settingsFor } from '../support/workspace.js';

const SEARCHES = Number(process.argv[3] ?? 500);
const launch = process.argv[4] === 'desktop' ? launchDesktop : launchBrowser;
const WARM_UP = Math.floor(SEARCHES / 5);
const CHANGES = 20;
const WORDS =
  'session request model field query cache template form user login admin migration signal view url test file index column join filter value error message email token'.split(
    ' ',
  );

/** @type {(() => unknown)[]} */
const ends = [];
const t = /** @type {any} */ ({
  after: (/** @type {() => unknown} */ end) => ends.push(end),
  diagnostic: () => {},
});

/** @param {number[]} values @param {number} share */
function percentile(values, share) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** @param {string} name @param {number[]} values */
function report(name, values) {
  const [middle, high] = [0.5, 0.95].map((share) => percentile(values, share).toFixed(0));
  console.log(`${name}: median ${middle} ms, p95 ${high} ms of ${values.length}`);
}

/** @param {import('playwright-core').Page} page */
async function measureFirstPaint(page) {
  const [paints, boxes] = [[], []].map(() => /** @type {number[]} */ ([]));
  for (let round = 0; round < CHANGES; round += 1) {
    await page.reload();
    await page.locator('#query').waitFor();
    const [paint, box] = await page.evaluate(async () => {
      const there = performance.now();
      const painted = () => performance.getEntriesByName('first-contentful-paint')[0];
      while (!painted()) await new Promise(requestAnimationFrame);
      return [painted().startTime, there];
    });
    paints.push(paint);
    boxes.push(box);
  }
  report('first paint after a reload', paints);
  report('search box there after a reload', boxes);
}

/** @param {import('playwright-core').Page} page */
async function measureChanges(page) {
  const change = (/** @type {string} */ link, /** @type {string} */ shown) =>
    page.evaluate(
      async ([what, wanted]) => {
        const begin = performance.now();
        /** @type {HTMLElement | null} */ (document.querySelector(what))?.click();
        const isThere = () => {
          const found = document.querySelector(wanted);
          return found instanceof HTMLElement && found.offsetParent !== null;
        };
        while (!isThere()) await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return performance.now() - begin;
      },
      [link, shown],
    );
  const [pages, tabs] = [[], []].map(() => /** @type {number[]} */ ([]));
  for (let round = 0; round < CHANGES; round += 1) {
    pages.push(await change('.top-nav a[href^="settings"]', '.settings-title'));
    pages.push(await change('.top-nav a[href^="repos"]', '.repo-link'));
    pages.push(await change('.repo-link', '.repository-tabs'));
    tabs.push(await change('#tab-talk', '#panel-talk'));
    tabs.push(await change('#tab-index', '#panel-index'));
    tabs.push(await change('#tab-search', '#panel-search'));
  }
  const warm = (/** @type {number[]} */ times) => times.slice(3); // the first are mounted
  report('page change, warm', warm(pages));
  report('tab change, warm', warm(tabs));
}

/** @param {import('playwright-core').Page} page */
async function measureSearches(page) {
  const client = await page.context().newCDPSession(page);
  const memory = async () => {
    await client.send('HeapProfiler.collectGarbage');
    const { usedSize } = await client.send('Runtime.getHeapUsage');
    return usedSize / 1e6;
  };
  const [times, replies] = [[], []].map(() => /** @type {number[]} */ ([]));
  let before = 0;
  let longest = await measureTasks(page);
  for (let number = 0; number < SEARCHES; number += 1) {
    if (number === WARM_UP) {
      before = await memory();
      longest = await measureTasks(page);
    }
    const query = `${WORDS[number % WORDS.length]} ${WORDS[(number * 7 + 3) % WORDS.length]} ${number}`;
    const [time, reply] = await page.evaluate(async (text) => {
      const box = /** @type {HTMLTextAreaElement} */ (document.querySelector('#query'));
      const isUnderWay = () => document.querySelector('.search-box')?.ariaBusy === 'true';
      const begin = performance.now();
      box.value = text;
      box.dispatchEvent(new Event('input', { bubbles: true }));
      do await new Promise(requestAnimationFrame);
      while (isUnderWay());
      const words = document.querySelector('.search-count')?.textContent ?? '';
      return [performance.now() - begin, Number(words.match(/(\d+) ms/)?.[1])];
    }, query);
    times.push(time);
    replies.push(reply);
  }
  report('keystroke to results, warm', times.slice(WARM_UP));
  report('  of it until the reply', replies.slice(WARM_UP));
  console.log(`longest task while searching: ${Math.round(await longest())} ms`);
  const after = await memory();
  console.log(
    `memory of the page: ${before.toFixed(1)} MB after ${WARM_UP} searches, ${after.toFixed(1)} MB after ${SEARCHES}`,
  );
}

const folder = path.resolve(process.argv[2] ?? '.');
const place = await makeWorkspace(t);
const settings = JSON.stringify(settingsFor(place.model.url, { searchLimit: 30 }));
await writeFile(path.join(place.userData, 'settings.json'), settings);
const host = await launch(t, place);
const page = await host.page('repos');
await page.setViewportSize({ width: 1440, height: 900 });
const repoName = await page.evaluate(
  async (wanted) => (await window.kernel.registerFolder({ path: wanted })).repoName,
  folder,
);
await page.getByRole('link', { name: repoName }).click();
await waitUntilIndexed(page);
const { files } = await page.evaluate(() => window.kernel.getIndexStatus());
console.log(`${repoName}: ${files} files`);
await measureSearches(page);
await measureChanges(page);
await measureFirstPaint(page);
console.log(`load of the machine: ${os.loadavg()[0].toFixed(1)} on ${os.cpus().length} cores`);
for (const end of ends.reverse()) await end();
