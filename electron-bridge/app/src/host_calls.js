/** The host calls of the desktop app; `codekernel web` has the same. */

import { existsSync } from 'node:fs';
import path from 'node:path';

import { KernelError } from '../../src/index.js';
import { canOpenEditor, openInEditor } from './open_in_editor.js';

/** A clipboard of more would stall every program that looks at it. */
const MAX_COPY_CHARS = 4 * 1024 * 1024;

/**
 * @param {{
 *   app: any, dialog: any, clipboard: any, BrowserWindow: any,
 *   bridge: import('../../src/index.js').KernelBridge,
 *   settingsSaver: import('./settings_saver.js').SettingsSaver,
 *   windows: import('./windows.js').Windows,
 * }} host
 * @returns {Record<string, import('../../src/ipc.js').HostCall>}
 */
export function makeHostCalls({
  app,
  dialog,
  clipboard,
  BrowserWindow,
  bridge,
  settingsSaver,
  windows,
}) {
  return {
    hostInfo: async () => ({
      kind: 'electron',
      platform: process.platform,
      version: app.getVersion(),
      locale: app.getLocale(),
      canChooseFolder: true,
      canOpenEditor: await canOpenEditor(),
      folder: findStartFolder(process.cwd()),
    }),
    chooseFolder: async (_fields, contents) => {
      const properties = ['openDirectory', 'createDirectory'];
      const window = BrowserWindow.fromWebContents(contents);
      const { filePaths } = await dialog.showOpenDialog(window, { properties });
      return { folder: filePaths[0] ?? '' };
    },
    saveSettings: ({ settings }) => settingsSaver.save(settings),
    openInEditor: (place, _contents, session) => openInEditor(requireRepository(session), place),
    openWindow: (wanted) => windows.show(wanted),
    copyText: ({ text }) => {
      if (typeof text !== 'string' || text.length > MAX_COPY_CHARS) {
        throw new KernelError('WRONG_PARAM', 'copyText takes a text of at most 4 MiB.');
      }
      clipboard.writeText(text);
    },
    showProgress: ({ share }, contents) => {
      const isShown = typeof share === 'number' && share >= 0 && share < 1;
      BrowserWindow.fromWebContents(contents)?.setProgressBar(isShown ? share : -1);
    },
    restartKernel: () => bridge.start(),
  };
}

/** @param {{ path: string } | undefined} session what the window shows */
export function requireRepository(session) {
  if (!session) throw new KernelError('SESSION_NOT_FOUND', 'This window has no repository open.');
  return session.path;
}

/**
 * The repository in which the app was started from a terminal; empty if from a menu.
 *
 * @param {string} folder
 */
export function findStartFolder(folder) {
  return existsSync(path.join(folder, '.git')) ? folder : '';
}
