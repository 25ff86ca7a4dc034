/** The native menu: what has a key of its own wherever the focus is. */

import { menuTexts } from './menu_texts.js';

/**
 * For `Menu.buildFromTemplate`.
 *
 * @param {{
 *   locale: string,
 *   isMac: boolean,
 *   isPackaged: boolean,
 *   show(page: string): void,
 *   about(): void,
 * }} host
 * @returns {object[]}
 */
export function menuTemplate({ locale, isMac, isPackaged, show, about }) {
  const words = menuTexts(locale);
  const line = { type: 'separator' };
  const settings = {
    label: words.settings,
    accelerator: 'CmdOrCtrl+,',
    click: () => show('settings'),
  };
  const aboutUs = { label: words.about, click: about };
  const quit = { role: 'quit', label: words.quit, accelerator: 'CmdOrCtrl+Q' };
  const file = {
    label: words.file,
    submenu: [
      { label: words.repositories, accelerator: 'CmdOrCtrl+O', click: () => show('repos') },
      ...(isMac ? [] : [settings]),
      line,
      { role: 'close', label: words.close, accelerator: 'CmdOrCtrl+W' },
      ...(isMac ? [] : [line, quit]),
    ],
  };
  const app = {
    label: 'codekernel',
    submenu: [aboutUs, line, settings, line, { role: 'hide' }, { role: 'hideOthers' }, line, quit],
  };
  const edit = {
    label: words.edit,
    submenu: [
      { role: 'undo', label: words.undo },
      { role: 'redo', label: words.redo },
      line,
      { role: 'cut', label: words.cut },
      { role: 'copy', label: words.copy },
      { role: 'paste', label: words.paste },
      { role: 'selectAll', label: words.selectAll },
    ],
  };
  const view = {
    label: words.view,
    submenu: [
      { role: 'reload', label: words.reload },
      line,
      { role: 'resetZoom', label: words.actualSize },
      { role: 'zoomIn', label: words.zoomIn },
      { role: 'zoomOut', label: words.zoomOut },
      line,
      { role: 'togglefullscreen', label: words.fullScreen },
      ...(isPackaged ? [] : [line, { role: 'toggleDevTools', label: words.developerTools }]),
    ],
  };
  const help = { label: words.help, submenu: [aboutUs] };
  return isMac ? [app, file, edit, view] : [file, edit, view, help];
}
