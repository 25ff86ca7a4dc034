/** What axe-core finds wrong with a page for somebody who cannot see, or point. */

import { readFile } from 'node:fs/promises';

import { setAppearance, waitUntilSettled } from './appearance.js';
import { AXE } from './programs.js';

const GRAVE = ['serious', 'critical'];
const THEMES = ['dark', 'light'];

/** Pages on which axe is at work; it tries styles that the policy refuses, which is no fault of ours. */
export const pagesUnderTest = new WeakSet();

/**
 * Violations that shut somebody out, as sentences: in either theme in Electron; in one in a browser,
 * where the same pages have the same colours.
 *
 * @param {import('playwright-core').Page} page
 * @returns {Promise<string[]>}
 */
export async function findViolations(page) {
  await page.evaluate(await readFile(AXE, 'utf8')); // not a script of the page, so no policy forbids it
  const found = [];
  for (const theme of page.url().startsWith('codekernel:') ? THEMES : THEMES.slice(-1)) {
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
  return violations
    .filter((/** @type {any} */ { impact }) => GRAVE.includes(impact))
    .flatMap((/** @type {any} */ { id, help, nodes }) =>
      nodes.map((/** @type {any} */ node) => {
        const why = [...node.any, ...node.all, ...node.none].map(({ message }) => message);
        return `${id}: ${help}: ${node.html.slice(0, 200)} (${why.join('; ')})`;
      }),
    );
}
