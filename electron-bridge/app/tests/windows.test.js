import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';

import { temporaryFolder } from '../../tests/support/fixtures.js';
import { WindowState } from '../src/window_state.js';
import { Windows } from '../src/windows.js';

const SCREEN = { x: 0, y: 0, width: 1920, height: 1040 };
const LEFT_SCREEN = { x: -1280, y: 0, width: 1280, height: 1024 };
const USUAL = { width: 800, height: 600 };
const BOUNDS = { x: 40, y: 50, width: 900, height: 700 };

async function stateFile(t) {
  return path.join(await temporaryFolder(t), 'window-state.json');
}

async function remembered(t, place, screens = [SCREEN]) {
  const file = await stateFile(t);
  const state = new WindowState(file);
  state.remember('repos', place);
  await state.save();
  return new WindowState(file).place('repos', screens, USUAL);
}

test('a window comes back where it was, and maximised if it was', async (t) => {
  assert.deepEqual(await remembered(t, { bounds: BOUNDS, maximized: true }), {
    ...BOUNDS,
    maximized: true,
  });
});

test('a window is not shown on a screen that is gone', async (t) => {
  const left = { bounds: { ...BOUNDS, x: -1000 }, maximized: false };
  assert.equal((await remembered(t, left, [SCREEN, LEFT_SCREEN])).x, -1000);
  const place = await remembered(t, left);
  assert.deepEqual(place, { width: 900, height: 700, maximized: false });
});

test('a window whose title bar cannot be reached is put back', async (t) => {
  for (const bounds of [
    { ...BOUNDS, y: -20 },
    { ...BOUNDS, y: 1030 },
    { ...BOUNDS, x: -850 },
    { ...BOUNDS, x: 1900 },
  ]) {
    assert.equal((await remembered(t, { bounds, maximized: false })).x, undefined);
  }
});

test('a window from a larger screen fits on the one that is there', async (t) => {
  const bounds = { x: 3000, y: 0, width: 3000, height: 2000 };
  const { width, height } = await remembered(t, { bounds, maximized: false });
  assert.deepEqual([width, height], [1920, 1040]);
});

test('a broken file is no reason not to start', async (t) => {
  const file = await stateFile(t);
  const broken = [
    '',
    'null',
    '[]',
    '{"repos": 1}',
    '{"repos": {"bounds": {"x": "0"}, "maximized": true}}',
  ];
  for (const text of broken) {
    await writeFile(file, text);
    const place = new WindowState(file).place('repos', [SCREEN], USUAL);
    assert.deepEqual(place, { ...USUAL, maximized: false }, text);
  }
});

test('the windows of many repositories do not pile up', async (t) => {
  const file = await stateFile(t);
  const state = new WindowState(file);
  for (let number = 0; number < 80; number += 1) {
    state.remember(`repository:${number}`, { bounds: BOUNDS, maximized: false });
  }
  await state.save();
  const kept = Object.keys(JSON.parse(await readFile(file, 'utf8')));
  assert.equal(kept.length, 50);
  assert.equal(kept.at(-1), 'repository:79');
});

/** As much of a BrowserWindow as is touched. */
class FakeWindow extends EventEmitter {
  webContents = Object.assign(new EventEmitter(), { id: 1, getURL: () => this.url });
  bounds = BOUNDS;
  log = [];
  isOver = false;

  constructor(options, { fails = false } = {}) {
    super();
    this.options = options;
    this.fails = fails;
  }

  isDestroyed = () => this.isOver;
  isMinimized = () => false;
  isFullScreen = () => false;
  isMaximized = () => this.log.includes('maximize');
  getNormalBounds = () => this.bounds;
  maximize = () => this.log.push('maximize');
  show = () => this.log.push('show');
  focus = () => this.log.push('focus');

  async loadURL(url) {
    this.url = url;
    if (this.fails) throw new Error('ERR_FILE_NOT_FOUND');
    this.emit('ready-to-show');
  }

  close() {
    this.emit('close');
    this.destroy();
  }

  destroy() {
    this.isOver = true;
    this.emit('closed');
  }
}

async function setUp(t, options) {
  const state = new WindowState(await stateFile(t));
  t.after(() => state.save());
  const made = [];
  const admitted = [];
  const requested = [];
  const windows = new Windows({
    state,
    create: (given) => made[made.push(new FakeWindow(given, options)) - 1],
    admit: (_contents, rights) => admitted.push(rights),
    screens: () => [SCREEN],
    requestPlace: (contents, address) => requested.push([contents.getURL(), address]),
    calls: ['getRepos', 'search'],
  });
  return { state, made, admitted, requested, windows };
}

test('each repository has one window, which is focused if it is open', async (t) => {
  const { made, windows } = await setUp(t);
  await windows.show({ page: 'repository', repoName: 'a&b c' });
  await windows.show({ page: 'repository', repoName: 'other' });
  await windows.show({ page: 'repository', repoName: 'a&b c' });
  assert.equal(made.length, 2);
  assert.equal(made[0].url, 'codekernel://app/repository.html?repo=a%26b%20c');
  assert.deepEqual(made[0].log, ['show', 'show', 'focus']);
  made[0].destroy();
  await windows.show({ page: 'repository', repoName: 'a&b c' });
  assert.equal(made.length, 3);
});

test('what showed a repository that was deleted goes to the list', async (t) => {
  const { made, requested, windows } = await setUp(t);
  await windows.show({ page: 'repository', repoName: 'a' });
  await windows.show({ page: 'repository', repoName: 'b' });
  windows.closeRepository('a');
  windows.closeRepository('never opened');
  assert.deepEqual(requested, [[made[0].url, 'codekernel://app/repos.html']]);
});

test('a link into a repository that is shown leads its window there', async (t) => {
  const { made, requested, windows } = await setUp(t);
  await windows.show({ page: 'repository', repoName: 'a' });
  await windows.show({ page: 'repository', repoName: 'a', part: 'search', query: 'x y' });
  assert.equal(made.length, 1);
  const address = 'codekernel://app/repository.html?repo=a&q=x%20y#search';
  assert.deepEqual(requested, [[made[0].url, address]]);
});

test('the menu leads the window that was used last', async (t) => {
  const { made, requested, windows } = await setUp(t);
  await windows.go({ page: 'settings' });
  assert.equal(made[0].url, 'codekernel://app/settings.html');
  await windows.go({ page: 'repos' });
  assert.deepEqual(requested, [[made[0].url, 'codekernel://app/repos.html']]);
});

test('windows that were open at the end are opened at the next start', async (t) => {
  const { state, made, windows } = await setUp(t);
  await windows.show({ page: 'repository', repoName: 'a' });
  await windows.show({ page: 'settings' });
  await windows.show({ page: 'repos' });
  made[1].close();
  windows.quit();
  made[0].close();
  made[2].close();
  await state.save();
  const addresses = new WindowState(state.file).openAddresses();
  assert.deepEqual(addresses, [made[0].url, made[2].url]);
  await windows.restore();
  assert.deepEqual(
    made.slice(3).map(({ url }) => url),
    addresses,
  );
});

test('a window may show each page, and ask what pages need', async (t) => {
  const { admitted, windows } = await setUp(t);
  await windows.show({ page: 'repos' });
  const page = ['repos', 'repository', 'settings'].map((one) => `codekernel://app/${one}.html`);
  assert.deepEqual(admitted[0], { page, calls: ['getRepos', 'search'] });
});

test('a page that does not exist is no window', async (t) => {
  const { made, windows } = await setUp(t);
  for (const page of ['../secret', 'constructor', '', undefined, 'https://example.com/']) {
    await assert.rejects(windows.show({ page }), { code: 'WRONG_PARAM' });
  }
  await assert.rejects(windows.show({ page: 'repository' }), { code: 'WRONG_PARAM' });
  assert.equal(made.length, 0);
});

test('a window whose page cannot be loaded does not stay behind, invisible', async (t) => {
  const { made, windows } = await setUp(t, { fails: true });
  await assert.rejects(windows.show({ page: 'repos' }), { message: /ERR_FILE_NOT_FOUND/ });
  assert.ok(made[0].isOver);
  assert.equal(windows.focusAny(), false);
});

test('a window is remembered as it was when it was closed', async (t) => {
  const { state, made, windows } = await setUp(t);
  await windows.show({ page: 'repos' });
  made[0].bounds = { ...BOUNDS, width: 1000 };
  made[0].close();
  await windows.show({ page: 'repos' });
  assert.equal(made[1].options.width, 1000);
  assert.equal(state.place('window 2', [SCREEN], USUAL).width, USUAL.width);
});

test('a second start shows the window that was used last', async (t) => {
  const { made, windows } = await setUp(t);
  await windows.show({ page: 'repos' });
  await windows.show({ page: 'settings' });
  made[0].emit('focus');
  assert.equal(windows.focusAny(), true);
  assert.deepEqual(made[0].log, ['show', 'show', 'focus']);
});
