/** The words of the native menu, in the languages of the app. */

/** @typedef {typeof en} MenuWords */

const en = {
  file: 'File',
  repositories: 'Repositories',
  settings: 'Settings…',
  close: 'Close Window',
  quit: 'Quit codekernel',
  edit: 'Edit',
  undo: 'Undo',
  redo: 'Redo',
  cut: 'Cut',
  copy: 'Copy',
  paste: 'Paste',
  selectAll: 'Select All',
  view: 'View',
  reload: 'Reload',
  actualSize: 'Actual Size',
  zoomIn: 'Zoom In',
  zoomOut: 'Zoom Out',
  fullScreen: 'Full Screen',
  developerTools: 'Developer Tools',
  help: 'Help',
  about: 'About codekernel',
};

/** @type {MenuWords} */
const zh = {
  file: '文件',
  repositories: '代码库',
  settings: '设置…',
  close: '关闭窗口',
  quit: '退出 codekernel',
  edit: '编辑',
  undo: '撤销',
  redo: '重做',
  cut: '剪切',
  copy: '复制',
  paste: '粘贴',
  selectAll: '全选',
  view: '视图',
  reload: '重新加载',
  actualSize: '实际大小',
  zoomIn: '放大',
  zoomOut: '缩小',
  fullScreen: '全屏',
  developerTools: '开发者工具',
  help: '帮助',
  about: '关于 codekernel',
};

/** @param {string} locale as `app.getLocale()` says it */
export function menuTexts(locale) {
  return locale.toLowerCase().startsWith('zh') ? zh : en;
}
