/** Pictures for docs/screenshots, when CODEKERNEL_PICTURES is set; a story is the same without. */

import { existsSync } from 'node:fs';
import path from 'node:path';

import { setAppearance, waitUntilSettled } from './appearance.js';
import { PROJECT } from './programs.js';

const FOLDER = path.join(PROJECT, 'docs', 'screenshots');

/**
 * @param {import('playwright-core').Page} page
 * @param {string} name
 */
export async function takeScreenshot(page, name) {
  const file = path.join(FOLDER, `${name}.png`);
  if (!process.env.CODEKERNEL_PICTURES || !existsSync(file)) return; // docs/app.md shows no other
  await page.evaluate(dismissToasts);
  await waitUntilSettled(page);
  await page.screenshot({ path: file, animations: 'disabled' });
}

/**
 * The same page in both themes and both languages.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} name
 * @param {string[]} [languages] a dialog keeps the language it was opened in
 */
export async function takeScreenshots(page, name, languages = ['en', 'zh']) {
  if (!process.env.CODEKERNEL_PICTURES) return;
  for (const theme of ['light', 'dark']) {
    for (const language of languages) {
      await setAppearance(page, theme, language);
      await takeScreenshot(page, `${name}-${theme}${language === 'en' ? '' : `-${language}`}`);
    }
  }
  await setAppearance(page, 'light', 'en');
}

/** What was done before belongs to no picture. */
function dismissToasts() {
  for (const button of document.querySelectorAll('.toast > .button.icon')) {
    /** @type {HTMLElement} */ (button).click();
  }
}
