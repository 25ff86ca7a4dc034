/** Search as you type: results in the list of VS Code, the chosen one previewed in the editor. */

import path from 'node:path';

import * as vscode from 'vscode';

import { listFolders, openPlace } from './editor_places.js';

/** Until nothing was typed for so long, nothing is asked. */
const DEBOUNCE_MS = 120;
const MAX_DETAIL_CHARS = 160;

/**
 * @param {import('./kernel_link.js').KernelLink} link
 * @param {string} query
 * @param {(error: unknown) => string} explain
 */
export function quickSearch(link, query, explain) {
  /** @type {vscode.QuickPick<vscode.QuickPickItem & { place?: any }>} */
  const list = vscode.window.createQuickPick();
  let number = 0;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  list.placeholder = 'Words, a question, a name, "exact text", /regex/, path:src lang:python';
  list.matchOnDescription = true;

  const ask = async () => {
    number += 1;
    const current = number;
    const wanted = list.value.trim();
    if (!wanted) {
      list.items = [];
      return;
    }
    list.busy = true;
    const limit = vscode.workspace.getConfiguration('codekernel').get('searchLimit', 20);
    try {
      const { results } = await link.search(listFolders(), wanted, { limit });
      if (current === number) list.items = results.length ? results.map(toItem) : [noItem()];
    } catch (error) {
      const label = `$(warning) ${explain(error)}`;
      if (current === number) list.items = [{ label, alwaysShow: true }];
    }
    if (current === number) list.busy = false;
  };
  list.onDidChangeValue(() => {
    clearTimeout(timer);
    timer = setTimeout(ask, DEBOUNCE_MS);
  });
  list.onDidChangeActive(([item]) => {
    if (item?.place) openPlace(item.place, { isPreview: true }).catch(() => undefined);
  });
  list.onDidAccept(() => {
    const [item] = list.selectedItems;
    list.hide();
    if (item?.place) {
      openPlace(item.place).catch((error) => vscode.window.showWarningMessage(explain(error)));
    }
  });
  list.onDidHide(() => {
    clearTimeout(timer);
    list.dispose();
  });
  list.value = query;
  list.show();
  if (query) ask();
}

/** @param {import('./kernel_link.js').FoundPlace} found */
function toItem(found) {
  const { filePath, beginLine, symbol, content } = found;
  const first = content.split('\n').find((line) => line.trim()) ?? '';
  return {
    label: `${path.posix.basename(filePath)}:${beginLine + 1}`,
    description: symbol ? `${symbol} · ${filePath}` : filePath,
    detail: first.trim().slice(0, MAX_DETAIL_CHARS),
    alwaysShow: true, // the kernel has chosen; VS Code's own filter would hide hits by meaning
    place: found,
  };
}

function noItem() {
  return { label: 'Nothing was found.', alwaysShow: true };
}
