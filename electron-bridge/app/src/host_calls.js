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
 * @returns {Record<string, (fields: Record<string, any>, contents: any) => unknown>}
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
    openInEditor: (place, contents) => openInEditor(requireRepository(bridge, contents), place),
    openWindow: (wanted) => windows.show(wanted),
    copyText: ({ text }) => {
      if (typeof text !== 'string' || text.length > MAX_COPY_CHARS) {
        throw new KernelError('WRONG_PARAM', 'copyText takes a text of at most 4 MiB.');
      }
      clipboard.writeText(text);
    },
    restartKernel: () => bridge.start(),
  };
}

/**
 * @param {import('../../src/index.js').KernelBridge} bridge
 * @param {any} contents the window that asks
 */
export function requireRepository(bridge, contents) {
  const mine = bridge.sessions.find(
    (session) => /** @type {any} */ (session.owner)?.contents === contents,
  );
  if (!mine) throw new KernelError('SESSION_NOT_FOUND', 'This window has no repository open.');
  return mine.path;
}

/**
 * The repository in which the app was started from a terminal; empty if from a menu.
 *
 * @param {string} folder
 */
export function findStartFolder(folder) {
  return existsSync(path.join(folder, '.git')) ? folder : '';
}
