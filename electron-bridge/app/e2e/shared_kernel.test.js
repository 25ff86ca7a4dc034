/** The app and a terminal at the same time: one folder, one kernel, one index. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { waitUntilIndexed } from './stories/searching.js';
import { launchDesktop } from './support/desktop.js';
import { PROJECT, python } from './support/programs.js';
import { codekernel, kernelStatus } from './support/terminal.js';
import { makeWorkspace, settingsFor, writeFiles } from './support/workspace.js';

const OTHER = {
  'tax.py': 'def add_tax(price):\n    """Return the gross price."""\n    return price * 1.19\n',
};

/** As a person has it: no variable says where the data lie. */
async function makeHome(t) {
  const place = await makeWorkspace(t);
  const home = String(place.environ.HOME);
  const { CODEKERNEL_USER_DATA: _unset, ...environ } = place.environ;
  return {
    ...place,
    environ: { ...environ, PYTHON_KEYRING_BACKEND: 'keyring.backends.fail.Keyring' },
    userData: path.join(home, '.local', 'share', 'codekernel'),
    earlier: path.join(home, '.config', 'codekernel'),
  };
}

/** Another front end, with the same repository open. */
function openElsewhere(t, place) {
  const environ = { ...place.environ, PYTHONPATH: path.join(PROJECT, 'kernel') };
  const words = ['-m', 'codekernel', 'serve'];
  const other = spawn(python(), words, { env: environ, stdio: ['pipe', 'ignore', 'inherit'] });
  t.after(() => other.kill('SIGKILL'));
  const message = { type: 'openRepo', repoName: 'demo', sessionId: 1 };
  const head = { sessionId: -1, toMain: true, callbackId: 1, isReply: false };
  other.stdin.write(`${JSON.stringify({ ...head, message })}\n`);
  return other;
}

/** The repositories that the list shows. */
const listed = (page) => page.locator('.repo-name').allTextContents();

test('what a terminal searches is in the list, and both use one kernel', async (t) => {
  const place = await makeHome(t);
  await mkdir(place.userData, { recursive: true });
  const settings = JSON.stringify(settingsFor(place.model.url));
  await writeFile(path.join(place.userData, 'settings.json'), settings);
  const other = path.join(place.folder, 'shop');
  await writeFiles(other, OTHER);

  const host = await launchDesktop(t, place);
  const repos = await host.page('repos');
  await repos.getByRole('heading', { name: 'Add the first repository' }).waitFor();
  const found = JSON.parse(await codekernel(place, other, 'search', '--json', 'gross price'));
  assert.equal(found[0].filePath ?? found[0].path, 'tax.py');
  await repos.getByRole('link', { name: /^shop/ }).waitFor(); // without a click

  await repos.getByRole('link', { name: /^shop/ }).click();
  const page = await host.page('repository');
  await waitUntilIndexed(page);
  await page.locator('#query').fill('what does the customer pay in the end');
  await page.getByRole('article').filter({ hasText: 'tax.py' }).first().waitFor();
  const status = await kernelStatus(place);
  assert.equal(status.userData, place.userData);
  const app = status.clients.find((client) => client.name === 'serve');
  assert.deepEqual(app.repos, ['shop']);
  assert.equal(status.indexes.length, 1);

  // By meaning, while the window has the index open.
  const query = 'what does the customer pay in the end';
  const results = JSON.parse(
    await codekernel(place, other, 'search', '--json', '--explain', query),
  );
  assert.ok(results[0].why.meaning > 0);

  // What the app adds is there in the terminal.
  await repos.bringToFront();
  await repos.evaluate(
    (folder) => window.kernel.createRepo({ repoName: 'demo', path: folder }),
    place.repo,
  );
  assert.match(await codekernel(place, place.folder, 'repos'), /^demo: /m);
  assert.deepEqual(host.problems, []);

  // The end of the app is not the end of the kernel.
  assert.equal(await host.quit(), 0);
  const after = await kernelStatus(place);
  assert.equal(after.pid, status.pid);
  assert.deepEqual(
    after.clients.map((client) => client.name),
    ['status'],
  );
});

test('a killed kernel is replaced, and no window says a word', async (t) => {
  const place = await makeHome(t);
  await mkdir(place.userData, { recursive: true });
  const settings = JSON.stringify(settingsFor(place.model.url));
  await writeFile(path.join(place.userData, 'settings.json'), settings);
  await codekernel(place, place.repo, 'repos', 'add', '.');
  const host = await launchDesktop(t, place);
  const repos = await host.page('repos');
  await repos.getByRole('link', { name: /^demo/ }).click({ modifiers: ['Control'] }); // its own window
  const page = await host.page('repository');
  await waitUntilIndexed(page);
  const told = await page.evaluateHandle(() => {
    const heard = /** @type {string[]} */ ([]);
    for (const type of ['kernelState', 'sessionPrepared', 'sessionCrashed', 'sessionLost']) {
      window.kernel.on(/** @type {any} */ (type), () => heard.push(type));
    }
    return heard;
  });
  const { pid } = await kernelStatus(place);
  process.kill(pid, 'SIGKILL');
  await page.locator('#query').fill('who says hello');
  await page.getByRole('article').filter({ hasText: 'greet.py' }).first().waitFor();
  assert.deepEqual(await told.jsonValue(), []);
  assert.equal(await page.getByRole('alert').count(), 0);
  assert.notEqual((await kernelStatus(place)).pid, pid);

  // Another client has the repository open, too: closing the window ends its session alone.
  const other = openElsewhere(t, place);
  const reposOf = async (/** @type {(client: any) => boolean} */ chosen) =>
    (await kernelStatus(place)).clients.filter(chosen).flatMap((client) => client.repos);
  const isOther = (/** @type {any} */ client) => client.pid === other.pid;
  const isApp = (/** @type {any} */ client) => client.name === 'serve' && !isOther(client);
  while ((await reposOf(isOther)).length === 0);
  assert.deepEqual(await reposOf(isApp), ['demo']);
  await page.close();
  while ((await reposOf(isApp)).length > 0);
  assert.deepEqual(await reposOf(isOther), ['demo']);
  assert.deepEqual(await listed(repos), ['demo']);
  assert.deepEqual(host.problems, []);
  assert.equal(await host.quit(), 0);
});

test('what an earlier version kept in its own folder is there', async (t) => {
  const place = await makeHome(t);
  await mkdir(place.earlier, { recursive: true });
  await writeFile(
    path.join(place.earlier, 'settings.json'),
    JSON.stringify(settingsFor(place.model.url)),
  );
  await writeFile(path.join(place.earlier, 'window-state.json'), '{}');
  await codekernel(place, place.repo, 'repos', '--user-data', place.earlier, 'add', '.');
  await codekernel(place, place.repo, 'search', '--user-data', place.earlier, 'hello');
  await codekernel(place, place.repo, 'stop', '--user-data', place.earlier);

  const host = await launchDesktop(t, place);
  const repos = await host.page('repos');
  await repos.getByRole('link', { name: /^demo/ }).click();
  const page = await host.page('repository');
  await waitUntilIndexed(page);
  await page.locator('#query').fill('who says hello');
  await page.getByRole('article').filter({ hasText: 'greet.py' }).first().waitFor();
  assert.equal((await kernelStatus(place)).userData, place.userData);
  assert.ok(existsSync(path.join(place.earlier, 'taken-over.json')));
  assert.ok(existsSync(path.join(place.userData, 'window-state.json')));
  assert.deepEqual(host.problems, []);
  assert.equal(await host.quit(), 0);
});
