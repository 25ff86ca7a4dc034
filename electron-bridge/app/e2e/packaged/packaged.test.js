/** The app as it is shipped: its own folder, its own kernel, nothing else of ours. */

import assert from 'node:assert/strict';
import { readlinkSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { launchDesktop } from '../support/desktop.js';
import { makeWorkspace } from '../support/workspace.js';

const PROGRAM = process.env.CODEKERNEL_PACKAGED;

test('the packaged app opens a repository with the kernel inside it', async (t) => {
  assert.ok(PROGRAM, 'CODEKERNEL_PACKAGED names the program; tests/app/test_packaging.py makes it');
  const place = await makeWorkspace(t);
  const host = await launchDesktop(t, place, { program: PROGRAM, args: [] });
  const page = await host.page('repos');
  const version = await page.evaluate(() =>
    window.kernel.host('hostInfo').then((it) => it.version),
  );
  assert.equal(version, '0.2.0');
  const found = await page.evaluate(async (folder) => {
    await window.kernel.createRepo({ repoName: 'demo', path: folder });
    return window.kernel.getRepos();
  }, place.repo);
  assert.equal(found.repoList[0].name, 'demo');

  const program = readlinkSync(`/proc/${await host.kernelPid()}/exe`);
  assert.match(program, /python\/bin\/python3/);
  assert.ok(!program.startsWith(path.join(process.cwd(), '..')), program);

  const isPackaged = await host.app.evaluate(({ app }) => app.isPackaged);
  assert.ok(isPackaged);
  const canInspect = await host.app.evaluate(({ BrowserWindow }) => {
    const [window] = BrowserWindow.getAllWindows();
    window.webContents.openDevTools();
    return window.webContents.isDevToolsOpened();
  });
  assert.equal(canInspect, false);
  assert.equal(await host.quit(), 0);
});
