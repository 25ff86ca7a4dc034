import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { KernelIpc } from '../../src/index.js';
import { FakeIpcMain, FakeWindow } from '../../tests/support/fake_electron.js';
import { waitForState, fakeBridge, temporaryFolder } from '../../tests/support/fixtures.js';
import { makeHostCalls, requireRepository, findStartFolder } from '../src/host_calls.js';
import { menuTemplate } from '../src/menu.js';
import { menuTexts } from '../src/menu_texts.js';
import { quitCleanly } from '../src/clean_quit.js';
import { HOST_CALLS } from '../../src/page_api.js';

const PAGE = 'codekernel://app/repository.html';

/** Two windows with the app's own calls, in front of the fake kernel. */
async function opened(t, options) {
  const bridge = await fakeBridge(t, options);
  const ipcMain = new FakeIpcMain();
  const copied = [];
  const chosen = { filePaths: ['/code/demo'] };
  const app = { getVersion: () => '1.2.3', getLocale: () => 'zh-CN' };
  const dialog = { showOpenDialog: async () => chosen };
  const clipboard = { writeText: (text) => copied.push(text) };
  const bars = [];
  const BrowserWindow = {
    fromWebContents: (contents) => ({ ...contents, setProgressBar: (share) => bars.push(share) }),
  };
  const shown = [];
  const windows = { show: async (wanted) => void shown.push(wanted) };
  const settingsSaver = { save: async () => {} };
  const calls = makeHostCalls({
    app,
    dialog,
    clipboard,
    BrowserWindow,
    bridge,
    settingsSaver,
    windows,
  });
  const opening = [];
  const openInEditor = (fields, contents, session) =>
    fields.filePath === 'x'
      ? void opening.push(requireRepository(session))
      : calls.openInEditor(fields, contents, session);
  const ipc = new KernelIpc({ ipcMain, bridge, hostCalls: { ...calls, openInEditor } });
  const [first, second] = [1, 2].map((id) => new FakeWindow(ipcMain, id, PAGE));
  for (const { contents } of [first, second]) {
    ipc.addWindow(contents, { page: PAGE, calls: ['openRepo', 'search', ...HOST_CALLS] });
  }
  return { bridge, first, second, copied, chosen, shown, calls, opening, bars };
}

test('every call that windows may make exists, and no other', async (t) => {
  const { calls } = await opened(t);
  assert.deepEqual(Object.keys(calls).sort(), [...HOST_CALLS].sort());
});

test('a page is told where it is', async (t) => {
  const { first } = await opened(t);
  const { kind, version, locale, canChooseFolder } = await first.kernel.host('hostInfo');
  assert.deepEqual([kind, version, locale, canChooseFolder], ['electron', '1.2.3', 'zh-CN', true]);
});

test('progress is shown in the taskbar until there is none', async (t) => {
  const { first, bars } = await opened(t);
  for (const share of [0.5, 1, -1, 'x']) await first.kernel.host('showProgress', { share });
  assert.deepEqual(bars, [0.5, -1, -1, -1]);
});

test('a folder that nobody chose is an empty one', async (t) => {
  const { first, chosen } = await opened(t);
  assert.deepEqual(await first.kernel.host('chooseFolder'), { folder: '/code/demo' });
  chosen.filePaths = [];
  assert.deepEqual(await first.kernel.host('chooseFolder'), { folder: '' });
});

test('text is copied, and nothing else', async (t) => {
  const { first, copied } = await opened(t);
  await first.kernel.host('copyText', { text: 'a.py:7' });
  await assert.rejects(first.kernel.host('copyText', { text: 7 }), { code: 'WRONG_PARAM' });
  const huge = 'x'.repeat(5 * 1024 * 1024);
  await assert.rejects(first.kernel.host('copyText', { text: huge }), { code: 'WRONG_PARAM' });
  assert.deepEqual(copied, ['a.py:7']);
});

test('a window opens files of the repository that it shows', async (t) => {
  const { first, second, opening } = await opened(t);
  await first.kernel.openRepo({ repoName: 'before' });
  await first.kernel.openRepo({ repoName: 'a' });
  await second.kernel.openRepo({ repoName: 'b' });
  for (const { kernel } of [first, second]) await kernel.host('openInEditor', { filePath: 'x' });
  assert.deepEqual(opening, ['/repos/a', '/repos/b']);
});

test('a window without a repository opens no file', async (t) => {
  const { first } = await opened(t);
  await assert.rejects(first.kernel.host('openInEditor', { filePath: 'a.py', line: 1 }), {
    code: 'SESSION_NOT_FOUND',
  });
});

test('a page can ask for another start of a kernel that has failed', async (t) => {
  const { bridge, first } = await opened(t, { mode: 'crash-at-start', start: false });
  const states = [];
  first.kernel.on('kernelState', ({ state, failure }) => states.push([state, failure?.code]));
  await assert.rejects(bridge.start(), { code: 'KERNEL_GAVE_UP' });
  await assert.rejects(first.kernel.host('restartKernel'), { code: 'KERNEL_GAVE_UP' });
  await waitForState(bridge, 'failed');
  await new Promise(setImmediate);
  const failures = states.filter(([state]) => state === 'failed');
  assert.deepEqual(failures, [
    ['failed', 'KERNEL_GAVE_UP'],
    ['failed', 'KERNEL_GAVE_UP'],
  ]);
});

test('the folder somebody stands in is offered if it is a repository', async (t) => {
  const folder = await temporaryFolder(t);
  assert.equal(findStartFolder(folder), '');
  await mkdir(path.join(folder, '.git'));
  assert.equal(findStartFolder(folder), folder);
});

/** An app that only quits. */
function leaving() {
  const exits = [];
  const signals = new EventEmitter();
  const app = Object.assign(new EventEmitter(), {
    exit: (code) => exits.push(code),
    quit() {
      const event = { isPrevented: false, preventDefault: () => (event.isPrevented = true) };
      this.emit('before-quit', event);
      if (exits.length === 0) this.emit('will-quit', event);
      return event;
    },
  });
  return { app, exits, signals };
}

test('the app ends after the kernel has', async () => {
  const { app, exits, signals } = leaving();
  let end;
  quitCleanly({ app, signals, stop: () => new Promise((resolve) => (end = resolve)) });
  assert.equal(app.quit().isPrevented, true);
  assert.deepEqual(exits, []);
  end();
  await new Promise(setImmediate);
  assert.deepEqual(exits, [0]);
});

test('who quits a second time does not wait', () => {
  const { app, exits, signals } = leaving();
  quitCleanly({ app, signals, stop: () => new Promise(() => {}) });
  signals.emit('SIGTERM');
  assert.deepEqual(exits, []);
  signals.emit('SIGINT');
  assert.deepEqual(exits, [1]);
});

test('a kernel that cannot be stopped does not keep the app', async () => {
  const { app, exits, signals } = leaving();
  quitCleanly({ app, signals, stop: () => Promise.reject(new Error('broken')) });
  app.quit();
  await new Promise(setImmediate);
  assert.deepEqual(exits, [1]);
});

const MENU = { locale: 'en-GB', isMac: false, isPackaged: true, show() {}, about() {} };

function items(parts) {
  return menuTemplate({ ...MENU, ...parts }).flatMap(({ submenu }) => submenu);
}

test('the menu speaks the language of the machine', () => {
  assert.deepEqual(
    menuTemplate({ ...MENU, locale: 'zh-TW' }).map(({ label }) => label),
    ['文件', '编辑', '视图', '帮助'],
  );
  assert.deepEqual(Object.keys(menuTexts('zh')), Object.keys(menuTexts('fr')));
});

test('a packaged app has no developer tools', () => {
  const roles = (isPackaged) => items({ isPackaged }).map(({ role }) => role);
  assert.ok(!roles(true).includes('toggleDevTools'));
  assert.ok(roles(false).includes('toggleDevTools'));
});

test('no key is taken twice, and every item has words', () => {
  for (const isMac of [false, true]) {
    const keys = items({ isMac }).flatMap(({ accelerator }) => accelerator ?? []);
    assert.deepEqual([...new Set(keys)], keys);
    for (const { type, role, label } of items({ isMac })) assert.ok(type || role || label);
  }
});

test('the menu opens the windows', () => {
  const shown = [];
  for (const item of items({ show: (page) => shown.push(page) })) item.click?.();
  assert.deepEqual(shown.sort(), ['repos', 'settings']);
});
