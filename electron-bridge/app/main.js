/** Electron's entry: one kernel, its windows, and a clean end. */

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import {
  app,
  BrowserWindow,
  clipboard,
  dialog,
  ipcMain,
  Menu,
  protocol,
  screen,
  session,
  shell,
} from 'electron';

import {
  goOffline,
  guardContents,
  guardSession,
  MAIN_PAGE_CALLS,
  KernelBridge,
  KernelIpc,
  locateUserData,
  PAGES_SCHEME,
  privilegedScheme,
  REPOSITORY_PAGE_CALLS,
  secureWindow,
  servePages,
} from '../src/index.js';
import { HOST_CALLS } from '../src/page_api.js';
import { takeOverWindows } from './src/earlier_folder.js';
import { makeHostCalls } from './src/host_calls.js';
import { menuTemplate } from './src/menu.js';
import { quitCleanly } from './src/clean_quit.js';
import { findStartRequest } from './src/start_request.js';
import { SettingsSaver } from './src/settings_saver.js';
import { WindowState } from './src/window_state.js';
import { Windows } from './src/windows.js';

const PAGES = fileURLToPath(new URL('pages', import.meta.url));
const ICON = path.join(PAGES, 'icons', 'icon-512.png');
const PRELOAD = fileURLToPath(new URL('../preload.cjs', import.meta.url));

/** Before the app is ready: where its data lie, and that no other window process uses them. */
function isFirst() {
  const userData = locateUserData();
  const { CODEKERNEL_USER_DATA: given, POCKETRAG_USERDATA_PATH: givenToo } = process.env;
  const earlier = path.join(app.getPath('appData'), app.getName());
  if (!given && !givenToo) takeOverWindows(earlier, userData);
  mkdirSync(userData, { recursive: true, mode: 0o700 });
  app.setPath('userData', userData);
  goOffline(app);
  // What Chromium keeps is no part of what the kernel keeps.
  app.setPath('sessionData', path.join(app.getPath('userData'), 'browser'));
  protocol.registerSchemesAsPrivileged([privilegedScheme]);
  if (app.isPackaged) app.setAsDefaultProtocolClient(PAGES_SCHEME); // codekernel:// links
  return app.requestSingleInstanceLock();
}

function run() {
  const userData = app.getPath('userData');
  const bridge = new KernelBridge({ userData, resourcesPath: process.resourcesPath });
  const state = new WindowState(path.join(userData, 'window-state.json'));
  const windows = new Windows({
    state,
    create: (options) => createWindow(options),
    admit: (contents, rights) => ipc.addWindow(contents, rights),
    requestPlace: (contents, address) => ipc.requestPlace(contents, address),
    screens: () => workAreasOf(screen),
    calls: [...MAIN_PAGE_CALLS, ...REPOSITORY_PAGE_CALLS, ...HOST_CALLS],
  });
  const settingsSaver = new SettingsSaver(bridge, userData);
  const parts = { app, dialog, clipboard, BrowserWindow, bridge, settingsSaver, windows };
  const ipc = new KernelIpc({ ipcMain, bridge, hostCalls: makeHostCalls(parts) });
  const go = (/** @type {any} */ place) => windows.go(place).catch(note);
  const open = (/** @type {import('./src/start_request.js').StartRequest | null} */ request) => {
    if (!request) return windows.focusAny() || go({ page: 'repos' });
    if ('place' in request) return windows.show(request.place).catch(note);
    return bridge
      .request('registerFolder', { path: request.folder })
      .then(({ repoName }) => windows.show({ page: 'repository', repoName }))
      .catch(note);
  };
  const note = (/** @type {unknown} */ error) => bridge.log.write(`[app] ${String(error)}`);

  bridge.on('repoDeleted', (repoName) => windows.closeRepository(repoName));
  bridge.on('state', (now) => now === 'running' && bridge.request('watchRepos').catch(note));
  quitCleanly({ app, stop: () => Promise.all([bridge.stop(), state.save()]) });
  app.on('before-quit', () => windows.quit());
  app.on(
    'second-instance',
    (/** @type {any} */ _event, /** @type {string[]} */ argv, /** @type {string} */ folder) =>
      open(requestIn(argv, folder)),
  );
  for (const type of ['open-url', 'open-file']) {
    app.on(type, (/** @type {any} */ _event, /** @type {string} */ what) =>
      open(requestIn([what])),
    );
  }
  app.on('activate', () => open(null));
  app.on('window-all-closed', () => process.platform === 'darwin' || app.quit());
  app.whenReady().then(async () => {
    bridge.start().catch(note); // windows get the state, and can request another start
    servePages(protocol, PAGES);
    guardSession(session.defaultSession, { scheme: PAGES_SCHEME });
    setMenu((page) => go({ page }));
    await windows.restore().catch(note);
    const request = requestIn(process.argv, process.cwd());
    if (request) open(request);
  });
}

/**
 * @param {readonly string[]} words of a command line
 * @param {string} [folder] where it was written
 */
function requestIn(words, folder = '/') {
  const ours = new Set([process.execPath, app.getAppPath()].map((each) => path.resolve(each)));
  return findStartRequest(
    words.filter((word) => !ours.has(path.resolve(folder, word))),
    folder,
  );
}

/** @param {object} options */
function createWindow(options) {
  const window = new BrowserWindow(
    secureWindow({
      ...options,
      preload: PRELOAD,
      title: 'codekernel',
      icon: ICON, // macOS takes that of the bundle
      webPreferences: { devTools: !app.isPackaged, spellcheck: false },
    }),
  );
  guardContents(window.webContents, { openExternal: (url) => shell.openExternal(url) });
  return window;
}

/** @param {(page: string) => void} show */
function setMenu(show) {
  app.setAboutPanelOptions({ applicationName: 'codekernel', applicationVersion: app.getVersion() });
  const template = menuTemplate({
    locale: app.getLocale(),
    isMac: process.platform === 'darwin',
    isPackaged: app.isPackaged,
    show,
    about: () => app.showAboutPanel(),
  });
  Menu.setApplicationMenu(Menu.buildFromTemplate(template));
}

/** @param {any} displays Electron's screen; the work area of the main display comes first */
function workAreasOf(displays) {
  const main = displays.getPrimaryDisplay();
  const others = displays.getAllDisplays().filter((/** @type {any} */ one) => one.id !== main.id);
  return [main, ...others].map(({ workArea }) => workArea);
}

if (isFirst()) run();
else app.quit();
