/** The desktop app apart from its pages: one instance, window state, blocked navigation, a clean exit. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { findViolations } from './support/axe.js';
import { launchDesktop } from './support/desktop.js';
import { APP, electronProgram, FLAGS, python } from './support/programs.js';
import { takeScreenshots } from './support/screenshots.js';
import { makeWorkspace } from './support/workspace.js';

test('a window comes back where it was', async (t) => {
  const place = await makeWorkspace(t);
  const bounds = { x: 120, y: 90, width: 940, height: 610 };
  const first = await launchDesktop(t, place);
  await first.page('repos');
  await first.app.evaluate(({ BrowserWindow }, wanted) => {
    const [window] = BrowserWindow.getAllWindows();
    const moved = new Promise((resolve) => window.once('resize', resolve));
    window.setBounds(wanted);
    return moved;
  }, bounds);
  assert.equal(await first.quit(), 0);
  const second = await launchDesktop(t, place);
  await second.page('repos');
  const found = await second.app.evaluate(({ BrowserWindow }) =>
    BrowserWindow.getAllWindows()[0].getNormalBounds(),
  );
  assert.deepEqual(found, bounds);
});

test('who starts it twice gets the window that is there', async (t) => {
  const place = await makeWorkspace(t);
  const host = await launchDesktop(t, place);
  await host.page('repos');
  const told = host.app.evaluate(
    ({ app }) => new Promise((resolve) => app.once('second-instance', () => resolve(true))),
  );
  const { DISPLAY } = await host.app.evaluate(() => process.env);
  const second = spawn(electronProgram(), [...FLAGS, APP], {
    env: /** @type {any} */ ({ ...place.environ, DISPLAY }),
    stdio: 'ignore',
  });
  const [code] = await once(second, 'exit');
  assert.equal(code, 0);
  assert.equal(await told, true);
  assert.equal(host.app.windows().length, 1);
});

test('a page has the kernel and nothing else of the machine', async (t) => {
  const host = await launchDesktop(t, await makeWorkspace(t));
  const page = await host.page('repos');
  const seen = await page.evaluate(async () => {
    const blocked = (/** @type {string} */ url) => fetch(url).then(String, () => 'blocked');
    const script = document.createElement('script');
    script.textContent = 'window.inline = true';
    document.head.append(script);
    return {
      node: [typeof globalThis.require, typeof globalThis.process, typeof globalThis.module],
      keys: Object.keys(window.kernel)
        .filter((name) => /key|session|ipc|send/i.test(name))
        .sort(),
      network: await blocked('https://example.com/'),
      local: await blocked('http://127.0.0.1:9/'),
      file: await blocked('file:///etc/passwd'),
      outside: (await fetch('codekernel://app/../main.js').catch(() => ({ status: 404 }))).status,
      opened: window.open('https://example.com/') === null,
      inline: /** @type {any} */ (window).inline ?? false,
      isPermitted: (await navigator.permissions.query({ name: 'geolocation' })).state,
    };
  });
  assert.deepEqual(seen, {
    node: ['undefined', 'undefined', 'undefined'],
    keys: ['hasApiKey', 'setApiKey'],
    network: 'blocked',
    local: 'blocked',
    file: 'blocked',
    outside: 404,
    opened: true,
    inline: false,
    isPermitted: 'denied',
  });
});

test('a page cannot ask for what its window may not', async (t) => {
  const host = await launchDesktop(t, await makeWorkspace(t));
  const page = await host.page('repos');
  const code = (/** @type {string} */ call) =>
    page.evaluate(
      (name) => window.kernel.host(name, { name: 'x' }).then(String, ({ code: said }) => said),
      call,
    );
  assert.equal(await code('getApiKey'), 'FORBIDDEN');
  assert.equal(await code('stopAll'), 'FORBIDDEN');
  assert.equal(await code('search'), 'SESSION_NOT_FOUND');
  assert.equal(await code('openInEditor'), 'SESSION_NOT_FOUND');
});

test('a page that is led elsewhere stays where it is', async (t) => {
  const host = await launchDesktop(t, await makeWorkspace(t));
  const page = await host.page('repos');
  for (const url of ['http://127.0.0.1:9/', 'codekernel://app/settings.html']) {
    await host.app.evaluate(({ BrowserWindow }) => {
      const [{ webContents }] = BrowserWindow.getAllWindows();
      Object.assign(globalThis, {
        navigation: new Promise((resolve) => {
          webContents.once('will-navigate', (event) =>
            resolve(`${event.url} ${event.defaultPrevented}`),
          );
        }),
      });
    });
    await page.evaluate((target) => location.assign(target), url);
    const seen = await host.app.evaluate(() => Reflect.get(globalThis, 'navigation'));
    assert.equal(seen, `${url} true`);
  }
  const shown = await host.app.evaluate(({ BrowserWindow }) =>
    BrowserWindow.getAllWindows()[0].webContents.getURL(),
  );
  assert.equal(shown, 'codekernel://app/repos.html');
});

test('a repository opens in the window, with Ctrl in another one, and leaves with its folder', async (t) => {
  const place = await makeWorkspace(t);
  const host = await launchDesktop(t, place);
  const list = await host.page('repos');
  const create = (/** @type {string} */ folder) =>
    window.kernel.createRepo({ repoName: 'demo', path: folder });
  await list.evaluate(create, place.repo);
  const link = list.getByRole('link', { name: /^demo/ });
  await link.click();
  await list.getByRole('tab', { name: 'Index' }).waitFor();
  await list.goBack();
  assert.equal(host.app.windows().length, 1);
  await link.click({ modifiers: ['Control'] });
  const page = await host.page('repository');
  await page.getByRole('tab', { name: 'Index' }).waitFor();
  await link.click({ modifiers: ['Control'] });
  assert.equal(host.app.windows().length, 2);

  await list.getByRole('button', { name: 'Delete demo from the list' }).click();
  await list.getByRole('button', { name: 'Delete from the list' }).click();
  for (const each of [list, page]) {
    await each.getByRole('heading', { name: 'Add the first repository' }).waitFor();
  }
  assert.ok(existsSync(path.join(place.repo, 'greet.py')), 'the folder itself was touched');
  assert.deepEqual(host.problems, []);
});

test('what was open at the end is open at the next start, and a link leads into it', async (t) => {
  const place = await makeWorkspace(t);
  const first = await launchDesktop(t, place, { args: [APP, place.repo] });
  const page = await first.page('repository');
  await page.getByRole('tab', { name: 'Index' }).click();
  assert.equal(await first.quit(), 0);
  const second = await launchDesktop(t, place);
  const again = await second.page('repository');
  await again.getByRole('tab', { name: 'Index', selected: true }).waitFor();
  const { DISPLAY } = await second.app.evaluate(() => process.env);
  const link = 'codekernel://app/repository.html?repo=demo&q=who%20says%20hello#search';
  const program = spawn(electronProgram(), [...FLAGS, APP, link], {
    env: /** @type {any} */ ({ ...place.environ, DISPLAY }),
    stdio: 'ignore',
  });
  await once(program, 'exit');
  await again.getByRole('article').filter({ hasText: 'greet.py' }).first().waitFor();
});

test('changes to the settings are not lost by closing the window', async (t) => {
  const host = await launchDesktop(t, await makeWorkspace(t));
  const list = await host.page('repos');
  await list.getByRole('link', { name: 'Settings' }).click();
  const page = await host.page('settings');
  await page.getByLabel('Results per search').fill('33');
  await host.app.evaluate(({ BrowserWindow }) => {
    for (const window of BrowserWindow.getAllWindows()) {
      if (window.webContents.getURL().includes('settings')) window.close();
    }
  });
  const question = page.getByRole('alertdialog', { name: 'Leave without saving?' });
  await question.waitFor();
  assert.deepEqual(await findViolations(page), []);
  const closed = page.waitForEvent('close');
  await question.getByRole('button', { name: 'Discard and close' }).click();
  await closed;
});

test('a signal ends app and kernel in order', async (t) => {
  const place = await makeWorkspace(t);
  const host = await launchDesktop(t, place);
  const page = await host.page('repos');
  await page.getByRole('status', { name: 'The kernel runs' }).waitFor({ state: 'attached' });
  const kernel = await host.kernelPid();
  const child = host.app.process();
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.ok(!existsSync(`/proc/${kernel}`), 'the kernel outlived the app');
});

test('what Chromium keeps lies apart from what the kernel keeps', async (t) => {
  const place = await makeWorkspace(t);
  const host = await launchDesktop(t, place);
  await host.page('repos');
  assert.equal(await host.quit(), 0);
  const names = await readdir(place.userData);
  assert.ok(names.includes('browser'));
  for (const name of ['Cache', 'Local Storage', 'Preferences'])
    assert.ok(!names.includes(name), name);
});

test('a kernel that cannot start is told of, and can be asked for again', async (t) => {
  const place = await makeWorkspace(t);
  const broken = path.join(place.folder, 'python');
  await writeFile(broken, '#!/bin/sh\necho "no memory left" >&2\nexit 3\n', { mode: 0o755 });
  const host = await launchDesktop(t, place, { python: broken });
  const page = await host.page('repos');
  await page.getByRole('status', { name: /The kernel does not run/ }).waitFor();
  const told = page.getByRole('alert');
  await told.getByText('The kernel crashed too often and was not started again.').waitFor();
  assert.equal(await told.count(), 1);
  assert.deepEqual(await findViolations(page), []);
  await takeScreenshots(page, 'kernel-failed');
  await writeFile(broken, `#!/bin/sh\nexec '${python()}' "$@"\n`);
  await page.getByRole('button', { name: 'Start it again' }).click();
  await page.getByRole('heading', { name: 'Add the first repository' }).waitFor();
  assert.equal(await host.quit(), 0);
});
