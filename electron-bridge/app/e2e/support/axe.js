/** What axe-core finds wrong with a page for somebody who cannot see, or point. */

import { readFile } from 'node:fs/promises';

import { setAppearance, waitUntilSettled } from './appearance.js';
import { AXE } from './programs.js';

/** In either theme in Electron; in one in a browser, where the same pages have the same colours. */
const THEMES = { electron: ['dark', 'light'], browser: ['light'] };

/** Pages on which axe is at work; it tries styles that the policy refuses, which is no fault of ours. */
export const pagesUnderTest = new WeakSet();

/**
 * Violations, as sentences.
 *
 * @param {import('playwright-core').Page} page
 * @param {...string} themes else those of the host
 * @returns {Promise<string[]>}
 */
export async function findViolations(page, ...themes) {
  await page.evaluate(await readFile(AXE, 'utf8')); // not a script of the page, so no policy forbids it
  const host = page.url().startsWith('codekernel:') ? 'electron' : 'browser';
  const found = [];
  for (const theme of themes.length > 0 ? themes : THEMES[host]) {
    await setAppearance(page, theme, 'en');
    await waitUntilSettled(page);
    for (const violation of await examine(page)) found.push(`${theme}: ${violation}`);
  }
  return found;
}

/** @param {import('playwright-core').Page} page */
async function examine(page) {
  pagesUnderTest.add(page);
  const { violations } = await page.evaluate(() => /** @type {any} */ (window).axe.run());
  pagesUnderTest.delete(page);
  return violations.flatMap((/** @type {any} */ { id, help, nodes }) =>
    nodes.map((/** @type {any} */ node) => {
      const why = [...node.any, ...node.all, ...node.none].map(({ message }) => message);
      return `${id}: ${help}: ${node.html.slice(0, 200)} (${why.join('; ')})`;
    }),
  );
}
