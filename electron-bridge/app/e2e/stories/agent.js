/** An agent: what it thinks and does, what it must ask for, and undoing what it changed. */

import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { findViolations } from '../support/axe.js';
import { TIMEOUT_MS } from '../support/desktop.js';
import { takeScreenshots } from '../support/screenshots.js';

/** @typedef {import('playwright-core').Page} Page */

/**
 * @param {import('../support/workspace.js').Workspace} place
 * @param {Page} page
 */
export async function letAgentWork(place, page) {
  const greeting = path.join(place.repo, 'greet.py');
  const before = await readFile(greeting, 'utf8');
  const turn = await giveTask(page);
  await allowAndDeny(place, page, turn);
  await lookInside(page, turn);
  assert.match(await readFile(greeting, 'utf8'), /Good morning/);
  await undo(page, turn);
  assert.equal(await readFile(greeting, 'utf8'), before);
  await openAgain(page);
  await stop(page);
  await reviewFirst(place, page);
}

/** @param {Page} page */
async function giveTask(page) {
  await page.getByRole('tab', { name: 'Conversation' }).click();
  await page.getByRole('radio', { name: 'Agent' }).check();
  await page.getByRole('heading', { name: 'Have something done in demo' }).waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'agent-start');
  const box = page.locator('#question');
  await box.fill('Write a friendlier greeting, and tidy up.');
  await box.press('Enter');
  return page.getByRole('article').first();
}

/**
 * @param {import('../support/workspace.js').Workspace} place
 * @param {Page} page
 * @param {import('playwright-core').Locator} turn
 */
async function allowAndDeny(place, page, turn) {
  const command = row(turn, 'run_command');
  await went(command, 'waits for you');
  const question = turn.getByRole('group', { name: 'May the agent do this?' });
  assert.ok(await question.evaluate((element) => element === document.activeElement));
  await question.getByText('until [ -e go ]').waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'agent-permission');
  await page.keyboard.press('Tab'); // over what is to be run
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await went(command, 'running');
  assert.ok(await command.evaluate((element) => element === document.activeElement));
  await writeFile(path.join(place.repo, 'go'), '');
  await went(command, 'done');

  await went(row(turn, 'delete_file'), 'waits for you');
  await turn.getByRole('button', { name: 'Deny' }).click();
  await went(row(turn, 'delete_file'), 'not allowed');
  await turn.getByText('says good morning now').waitFor();
  await readFile(path.join(place.repo, 'main.go'));
}

/**
 * @param {Page} page
 * @param {import('playwright-core').Locator} turn
 */
async function lookInside(page, turn) {
  const thinking = turn.getByRole('button', { name: /^Thinking/ });
  assert.equal(await thinking.getAttribute('aria-expanded'), 'false');
  const thought = turn.locator('.thought-text');
  assert.ok(await thought.isHidden());
  await thinking.focus();
  await page.keyboard.press('Enter');
  assert.equal(await thinking.getAttribute('aria-expanded'), 'true');
  await thought.getByText('I read it before I change it.').waitFor();

  const missing = row(turn, 'read_file').filter({ hasText: 'src/greet.py' });
  await went(missing, 'failed');
  await missing.click();
  await turn.getByText('What went wrong').waitFor();

  const edit = row(turn, 'edit_file');
  await went(edit, 'done');
  await edit.click();
  await turn.locator('.diff-line.removed').getByText('Hello, {name}!').waitFor();
  await turn.locator('.diff-line.added').getByText('Good morning, {name}!').waitFor();
  assert.deepEqual(await findViolations(page), []);
  await thinking.scrollIntoViewIfNeeded();
  await takeScreenshots(page, 'agent');
  await missing.click();
  await edit.click();

  await row(turn, 'run_command').click();
  const all = turn.getByRole('button', { name: 'Show all (61 lines)' });
  const output = turn.locator('.tool-output');
  assert.doesNotMatch(await output.innerText(), /3 tests passed/);
  await all.click();
  await output.getByText('3 tests passed').waitFor();
  await row(turn, 'run_command').click();
}

/**
 * @param {Page} page
 * @param {import('playwright-core').Locator} turn
 */
async function undo(page, turn) {
  await turn.getByText('1 file changed').waitFor();
  await turn.getByText('What its commands did').waitFor();
  await turn.getByRole('button', { name: 'Undo changes' }).click();
  const dialog = page.getByRole('alertdialog', { name: 'Undo what the agent changed?' });
  await dialog.getByText('greet.py').waitFor();
  await dialog.getByRole('button', { name: 'Undo changes' }).click();
  await turn.getByText('The changes were undone.').waitFor();
  await turn.getByText('as before').waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'agent-undone');
}

/** A conversation that is opened again shows what it showed. @param {Page} page */
async function openAgain(page) {
  await page.getByRole('button', { name: 'New', exact: true }).click();
  await page.getByRole('article').waitFor({ state: 'detached' });
  await page.locator('.talk-open').first().click();
  const turn = page.getByRole('article').first();
  await went(row(turn, 'run_command'), 'done');
  await went(row(turn, 'delete_file'), 'not allowed');
  await turn.getByText('The changes were undone.').waitFor();
  assert.equal(
    await turn.getByRole('button', { name: /^Thinking/ }).getAttribute('aria-expanded'),
    'false',
  );
}

/** The agent waits while the page is loaded again, which finds it and stops it. @param {Page} page */
async function stop(page) {
  const box = page.locator('#question');
  await box.fill('Please run it again.');
  await box.press('Enter');
  const turn = page.getByRole('article').nth(1);
  await turn.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  await page.reload();
  await page.getByRole('tab', { name: 'Conversation' }).click();
  await turn.getByText('Please run it again.').waitFor();
  await turn.getByRole('button', { name: 'Allow', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await went(row(turn, 'run_command'), 'stopped');
  await turn.locator('.outcome').waitFor();
}

/**
 * The plan is a list that fills, and an edit waits as a diff.
 *
 * @param {import('../support/workspace.js').Workspace} place
 * @param {Page} page
 */
async function reviewFirst(place, page) {
  const greeting = path.join(place.repo, 'greet.py');
  const before = await readFile(greeting, 'utf8');
  await page.getByRole('button', { name: 'New', exact: true }).click();
  await page.getByRole('checkbox', { name: 'Review first' }).check();
  const box = page.locator('#question');
  await box.fill('Greet in small steps.');
  await box.press('Enter');
  const turn = page.getByRole('article').first();
  await went(row(turn, 'edit_file'), 'waits for you');
  const plan = turn.getByRole('region', { name: 'Plan' });
  await plan.getByText('1 of 2').waitFor();
  await turn.locator('.permission .diff-line.added').getByText('Good morning, {name}!').waitFor();
  assert.equal(await readFile(greeting, 'utf8'), before);
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'agent-review');
  await turn.getByRole('button', { name: 'Accept', exact: true }).click();
  await went(row(turn, 'edit_file'), 'done');
  await row(turn, 'edit_file').getByText('+2').waitFor();
  await plan.getByText('2 of 2').waitFor();
  assert.match(await readFile(greeting, 'utf8'), /Good morning/);

  await went(row(turn, 'run_command'), 'waits for you');
  await turn.getByRole('button', { name: 'Always allow this command here' }).click();
  await went(row(turn, 'run_command'), 'done');
  await page.getByRole('button', { name: '1 rule' }).click();
  const rules = page.getByRole('dialog', { name: 'Allowed here without asking' });
  await rules.getByRole('button', { name: 'Remove the rule for echo tidy' }).click();
  await rules.getByText('There are no rules').waitFor();
  await rules.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('checkbox', { name: 'Review first' }).uncheck();
}

/**
 * The agent is at work, and goes on: on another page, without its tab, without the browser.
 *
 * @param {import('../support/workspace.js').Workspace} place
 * @param {Awaited<ReturnType<typeof import('../support/browser.js').launchBrowser>>} host
 * @param {Page} first
 */
export async function outlive(place, host, first) {
  await rm(path.join(place.repo, 'go'));
  await first.getByRole('button', { name: 'New', exact: true }).click();
  const box = first.locator('#question');
  await box.fill('Write a friendlier greeting, and tidy up.');
  await box.press('Enter');
  const running = (/** @type {Page} */ page) =>
    went(row(page.getByRole('article').first(), 'run_command'), 'running');
  await first.getByRole('button', { name: 'Allow', exact: true }).click();
  await running(first);

  const badge = (/** @type {Page} */ page) => page.getByRole('link', { name: '1 at work' });
  await first.getByRole('link', { name: 'Settings' }).click();
  await first.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  await badge(first).click();
  await running(first);

  const address = new URL('repository.html?repo=demo', first.url()).href;
  const second = await first.context().newPage();
  second.setDefaultTimeout(TIMEOUT_MS);
  await first.close();
  await second.goto(address);
  await badge(second).click();
  await running(second);

  const third = await host.reopen();
  await third.goto(new URL('settings.html', address).href); // whatever page one comes back to
  await badge(third).click();
  await running(third);
  await writeFile(path.join(place.repo, 'go'), '');
  const turn = third.getByRole('article').first();
  await went(row(turn, 'run_command'), 'done');
  await turn.getByRole('button', { name: 'Deny' }).click();
  await turn.getByText('says good morning now').waitFor();
  await badge(third).waitFor({ state: 'detached' });
}

/**
 * @param {import('playwright-core').Locator} turn
 * @param {string} tool
 */
function row(turn, tool) {
  return turn.locator('.tool-toggle').filter({ hasText: tool });
}

/**
 * @param {import('playwright-core').Locator} toggle a row
 * @param {string} status
 */
async function went(toggle, status) {
  await toggle.locator('.tool-status').getByText(status, { exact: true }).waitFor();
}
