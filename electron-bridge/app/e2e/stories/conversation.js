/** A conversation: an answer with rounds and citations, one that is stopped, what it all cost. */

import assert from 'node:assert/strict';

import { findViolations } from '../support/axe.js';
import { takeScreenshots } from '../support/screenshots.js';

/** @typedef {import('playwright-core').Page} Page */

/**
 * @param {import('../support/desktop.js').Host} host
 * @param {Page} page
 */
export async function talk(host, page) {
  await page.getByRole('tab', { name: 'Conversation' }).click();
  const box = page.locator('#question');
  await box.waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'talk-start');

  await box.fill('Where is the greeting made?');
  await box.press('Enter');
  const turn = page.getByRole('article').first();
  await turn.getByText('Find the greeting').waitFor();
  const cited = turn.getByRole('button', { name: /^greet\.py:1-3: / });
  await cited.waitFor();
  await turn.getByRole('table').waitFor();
  await turn.locator('pre .hljs-keyword, .code .hljs-keyword').first().waitFor();
  await turn.getByText('Find the greeting').click();
  await turn.getByText('shout', { exact: true }).first().waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'talk');

  await turn.getByRole('button', { name: /^\d+ sources$/ }).click();
  const sources = page.getByRole('complementary', { name: 'Sources' });
  await sources.getByRole('button', { name: 'greet.py:1–3 verified' }).waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'talk-sources');
  await sources.getByRole('button', { name: 'Close' }).click();

  await cited.click();
  await page.getByRole('region', { name: 'greet.py' }).waitFor();
  await page.keyboard.press('Escape');

  await box.fill('Tell me without end.');
  await box.press('Enter');
  const endless = page.getByRole('article').nth(1);
  await endless.getByText('Sentence 3 of many.').waitFor();
  assert.deepEqual(await findViolations(page), []);
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
  await endless.locator('.outcome').waitFor();
  await takeScreenshots(page, 'talk-stopped');
  await branchOff(page);
}

/** An earlier question is asked differently, and nothing is lost. @param {Page} page */
async function branchOff(page) {
  const first = page.getByRole('article').first();
  await page.getByText(/^Memory: /).waitFor();
  await first.getByRole('button', { name: 'Fork', exact: true }).click();
  await page.getByText('You are in a copy now').waitFor();
  await page.getByRole('article').nth(1).waitFor({ state: 'detached' });
  await first.locator('.question-text').getByText('Where is the greeting').waitFor();
  await first.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByText('You edit an earlier question').waitFor();
  await page.locator('#question').fill('Who shouts?');
  await page.locator('#question').press('Enter');
  await first.locator('.question-text').getByText('Who shouts?').waitFor();
  await first.getByRole('button', { name: 'Regenerate' }).click();
  await first.getByRole('button', { name: 'Regenerate' }).waitFor();
  await page.locator('.talk-open').nth(3).waitFor(); // the original and each branch
}

/**
 * Opens the tab and asks in the instant the question can be typed, before its models are known.
 *
 * @param {Page} page
 * @param {string} question
 */
export async function askAtOnce(page, question) {
  await page.getByRole('tab', { name: 'Conversation' }).click();
  const box = page.locator('#question');
  await box.waitFor({ state: 'attached' });
  await box.evaluate((/** @type {HTMLTextAreaElement} */ input, text) => {
    input.value = text;
    input.dispatchEvent(new InputEvent('input', { bubbles: true }));
    const enter = { key: 'Enter', bubbles: true, cancelable: true };
    input.dispatchEvent(new KeyboardEvent('keydown', enter));
  }, question);
}

/** @param {Page} page */
export async function lookAtUsage(page) {
  await page.getByRole('tab', { name: 'Usage' }).click();
  const table = page.getByRole('table').filter({ visible: true }).first();
  await table.getByText('scripted-1').waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'usage');
}
