/** Agents on a phone: the page that `codekernel hub` serves, in a browser of 390 px. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';

import { findViolations } from './support/axe.js';
import {
  findSmallTargets,
  launchPhone,
  makePairingAddress,
  prepareAgents,
  startAgent,
  startHub,
  waitForShell,
} from './support/hub.js';
import { takeScreenshots } from './support/screenshots.js';
import { codekernel } from './support/terminal.js';
import { makeWorkspace } from './support/workspace.js';

const execute = promisify(execFile);

test('an agent is started, followed, denied, allowed and given more to do from a phone', async (t) => {
  const place = await makeWorkspace(t);
  await commitAll(place.repo);
  await prepareAgents(place);
  const hub = await startHub(t, place);
  const { page, problems } = await launchPhone(t);

  await page.goto(hub.address);
  await page.getByText('No agent has worked here yet').waitFor();
  assert.equal(new URL(page.url()).hash, '#/', 'the code is gone from the address');
  await page.getByRole('button', { name: 'Dismiss' }).click(); // that it is paired
  assert.deepEqual(await findViolations(page), []);

  await startAgent(page, 'Make a friendlier greeting');
  const allow = page.getByRole('button', { name: 'Allow', exact: true });
  const deny = page.getByRole('button', { name: 'Deny', exact: true });
  await allow.waitFor();
  await page.getByText('I look at the greeting first.').waitFor();
  assert.equal(await page.title(), '(1) codekernel');
  assert.deepEqual(await findViolations(page), []);
  assert.deepEqual(await findSmallTargets(page), []);
  const box = await allow.boundingBox();
  assert.ok(box && box.y > 844 / 2 && box.y + box.height <= 844, 'within reach of a thumb');
  await takeScreenshots(page, 'agents-permission', ['en']);

  await allow.click();
  await toolRow(page, 'run_command', 'running').waitFor();
  assert.equal(await page.title(), 'codekernel');
  await page.getByLabel('Message to the agent').fill('Then run it again');
  await page.getByRole('button', { name: 'Queue' }).click();
  await page.getByLabel('Message to the agent').fill('and something that I take back');
  await page.keyboard.press('Enter');
  const queue = page.getByRole('region', { name: 'Messages that wait' });
  await queue.getByText('waits for the agent').nth(1).waitFor();
  await page.getByRole('button', { name: 'Take back: and something' }).click();
  await queue.getByText('something that I take back').waitFor({ state: 'detached' });
  assert.deepEqual(await findViolations(page), []);

  await writeFile(path.join(place.repo, 'go'), '');
  await page.getByText('delete_file wants to delete something:').waitFor();
  await deny.click();
  await toolRow(page, 'delete_file', 'not allowed').waitFor();
  await page.getByText('and the tests pass.').waitFor();
  assert.ok(existsSync(path.join(place.repo, 'main.go')));

  // The message that waited is taken, and stands where it was.
  await page.getByText('make test').last().waitFor();
  assert.equal(await queue.count(), 0);
  await allow.click();
  await page.getByText('Done.').waitFor();
  const questions = await page.locator('.question-text').allTextContents();
  assert.deepEqual(questions, ['Make a friendlier greeting', 'Then run it again']);

  await page.getByRole('button', { name: 'greet.py:1-3' }).click();
  await page.getByRole('dialog').locator('.hit', { hasText: 'return f"Good morning' }).waitFor();
  assert.deepEqual(await findViolations(page), []);
  await page.getByRole('button', { name: 'Close' }).click();

  await page.getByRole('link', { name: 'Changes' }).click();
  await page.getByRole('heading', { name: '2 files changed' }).waitFor();
  await page.getByRole('button', { name: 'greet.py' }).click();
  await page.getByText('+    return f"Good morning, {name}!"').waitFor();
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'agents-changes', ['en']);

  const address = page.url();
  await page.reload();
  await page.getByRole('heading', { name: '2 files changed' }).waitFor();
  assert.equal(page.url(), address);
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByText('Done.').waitFor();
  assert.deepEqual(await page.locator('.question-text').allTextContents(), questions);

  await page.getByRole('button', { name: 'Name, permissions, archive' }).click();
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Greetings');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Greetings' }).waitFor();
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByRole('link', { name: 'Greetings done' }).waitFor();
  await startAgent(page, 'Please run the tests');
  await allow.waitFor();
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByText('May it use run_command?').waitFor();
  const names = await page.locator('.session-name').allTextContents();
  assert.deepEqual(names, ['Please run the tests', 'Greetings'], 'the one that waits is first');
  assert.deepEqual(await findViolations(page), []);
  assert.deepEqual(await findSmallTargets(page), []);
  await takeScreenshots(page, 'agents-list', ['en']);
  assert.deepEqual(problems(), []);
});

test('a turn is followed through kill -9 of the hub, and what was written meanwhile is sent once', async (t) => {
  const place = await makeWorkspace(t);
  await prepareAgents(place);
  const hub = await startHub(t, place);
  const { page, problems } = await launchPhone(t);
  await page.goto(hub.address);
  await startAgent(page, 'Make a friendlier greeting');
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await toolRow(page, 'run_command', 'running').waitFor();

  await waitForShell(page);
  await hub.kill();
  await page.getByText('The hub does not answer. Messages are kept').waitFor();
  await page.getByLabel('Message to the agent').fill('Then run it again');
  await page.getByRole('button', { name: 'Queue' }).click();
  await page.getByText('not sent yet').waitFor();
  // A reload without the hub: the page's own files are there, and so is the message.
  await page.reload();
  await page.getByText('The hub does not answer. Messages are kept').waitFor();
  assert.match(page.url(), /#\/session\//);

  await writeFile(path.join(place.repo, 'go'), ''); // the agent works on, without the hub
  await startHub(t, place, hub.port);
  await page.evaluate(() => dispatchEvent(new Event('online'))); // as when a network is back
  await page.getByText('delete_file wants to delete something:').waitFor();
  await toolRow(page, 'run_command', 'done').waitFor();
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('make test').last().waitFor();
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByText('Done.').waitFor();
  const questions = await page.locator('.question-text').allTextContents();
  assert.deepEqual(questions, ['Make a friendlier greeting', 'Then run it again']);
  assert.deepEqual(problems(), []);
});

test('two browsers answer one permission at once: one decision, and the other is told whose', async (t) => {
  const place = await makeWorkspace(t);
  await prepareAgents(place);
  const hub = await startHub(t, place);
  const phone = await launchPhone(t, { userAgent: 'Mozilla/5.0 (iPhone) Mobile' });
  const laptop = await launchPhone(t, { viewport: { width: 1240, height: 820 } });
  await phone.page.goto(hub.address);
  await laptop.page.goto(await makePairingAddress(place));
  await startAgent(phone.page, 'Please run the tests');
  await laptop.page.getByRole('link', { name: 'waits for you' }).click();
  const deny = phone.page.getByRole('button', { name: 'Deny', exact: true });
  const allow = laptop.page.getByRole('button', { name: 'Allow', exact: true });
  await Promise.all([deny.click({ trial: true }), allow.click({ trial: true })]);
  const at = Date.now() + 300; // one clock for both
  const press = (/** @type {Element} */ button, /** @type {number} */ time) =>
    setTimeout(() => /** @type {HTMLElement} */ (button).click(), time - Date.now());
  await Promise.all([deny.evaluate(press, at), allow.evaluate(press, at)]);

  await Promise.all([phone, laptop].map(({ page }) => page.getByText('Done.').waitFor()));
  const pages = [phone.page, laptop.page];
  await Promise.any(pages.map((page) => page.getByText(/(Allowed|Denied) by/).waitFor()));
  const said = await Promise.all(
    [phone, laptop].map(({ page }) => page.locator('.toast').allTextContents()),
  );
  const told = said.map((texts) => texts.some((text) => /(Allowed|Denied) by/.test(text)));
  const wasAllowed = (await toolRow(phone.page, 'run_command', 'failed').count()) === 1;
  assert.deepEqual(told, wasAllowed ? [true, false] : [false, true], JSON.stringify(said));
  const words = said.flat().join(' ');
  assert.match(words, wasAllowed ? /Allowed by Linux browser/ : /Denied by iPhone/);
  const other = toolRow(laptop.page, 'run_command', wasAllowed ? 'failed' : 'not allowed');
  assert.equal(await other.count(), 1, 'both show the same');
  assert.deepEqual([...phone.problems(), ...laptop.problems()], []);
});

test('a device that is revoked is told so, and a code is good once', async (t) => {
  const place = await makeWorkspace(t);
  await prepareAgents(place);
  const hub = await startHub(t, place);
  const { page } = await launchPhone(t, { userAgent: 'Mozilla/5.0 (iPhone) Mobile' });
  await page.goto(hub.address);
  await page.getByText('No agent has worked here yet').waitFor();
  assert.match(await codekernel(place, place.folder, 'hub', 'devices'), /^iPhone {2}device/);

  await codekernel(place, place.folder, 'hub', 'revoke', 'iPhone');
  await page.getByText('This device was removed from the hub.').waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Pair this device' }).waitFor();
  assert.deepEqual(await findViolations(page), []);
  await page.getByLabel('Code').fill(hub.address.split('=')[1]);
  await page.getByRole('button', { name: 'Pair' }).click();
  await page.getByText('This code was used, or is older than ten minutes.').waitFor();
  await page.getByLabel('Code').fill((await makePairingAddress(place)).split('=')[1]);
  await page.getByRole('button', { name: 'Pair' }).click();
  await page.getByText('No agent has worked here yet').waitFor();
});

test('a page that nobody looks at shows a notice, only after it was allowed to', async (t) => {
  const place = await makeWorkspace(t);
  await prepareAgents(place);
  const hub = await startHub(t, place);
  const { page, context, problems } = await launchPhone(t);
  await page.goto(hub.address);
  await page.getByText('No agent has worked here yet').waitFor();
  await context.grantPermissions(['notifications']);
  await page.reload();
  await page.getByRole('button', { name: 'Notify me when an agent waits' }).click();
  await page.getByRole('button', { name: 'Notices are on' }).waitFor();
  await page.evaluate(() => navigator.serviceWorker.ready);
  // Headless browsers never hide a page.
  await page.evaluate(() => Object.defineProperty(document, 'hidden', { get: () => true }));
  await page.evaluate(noteNotices);
  await startAgent(page, 'Please run the tests');
  const titles = await page.waitForFunction(() => /** @type {any} */ (window).shownTitles[0]);
  assert.match(await titles.jsonValue(), /waits for you$/);
  assert.deepEqual(problems(), []);
});

test('nothing that agents said is kept by the browser', async (t) => {
  const place = await makeWorkspace(t);
  await prepareAgents(place);
  const hub = await startHub(t, place);
  const { page } = await launchPhone(t);
  await page.goto(hub.address);
  await startAgent(page, 'Say something');
  await page.getByText('Done.').waitFor();
  await page.reload();
  await page.getByText('Done.').waitFor();
  await waitForShell(page);
  const kept = await page.evaluate(async () => {
    const cache = await caches.open('codekernel-agents');
    const paths = (await cache.keys()).map(({ url }) => new URL(url).pathname);
    return { names: await caches.keys(), paths, stored: Object.keys(localStorage) };
  });
  assert.deepEqual(kept.names, ['codekernel-agents']);
  assert.ok(kept.paths.includes('/') && kept.paths.includes('/agents/main.js'));
  assert.deepEqual(
    kept.paths.filter((each) => each.startsWith('/api')),
    [],
  );
  assert.deepEqual(
    kept.stored.filter(
      (name) => !/^codekernel\.(?:hub\.(?:device|lastStart)|theme|language)$/.test(name),
    ),
    [],
  );
});

/**
 * Keep the titles of notices that the browser has accepted, which it does not without permission.
 * `getNotifications` is no help: a browser without a desktop takes one in five away at once.
 */
function noteNotices() {
  const { showNotification } = ServiceWorkerRegistration.prototype;
  const page = /** @type {any} */ (window);
  page.shownTitles = [];
  ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
    await showNotification.call(this, title, options);
    page.shownTitles.push(title);
  };
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} tool
 * @param {string} status
 */
function toolRow(page, tool, status) {
  return page.locator('.tool-toggle', { hasText: tool }).filter({ hasText: status });
}

/** @param {string} folder */
async function commitAll(folder) {
  const git = (/** @type {string[]} */ ...words) =>
    execute('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...words], {
      cwd: folder,
    });
  await git('init', '-q');
  await git('add', '.');
  await git('commit', '-qm', 'first');
  assert.match(await readFile(path.join(folder, 'greet.py'), 'utf8'), /Hello/);
}
