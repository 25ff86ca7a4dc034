/** The extension: one client of the shared kernel, its views and commands. */

import path from 'node:path';

import * as vscode from 'vscode';

import { AskView } from './ask_view.js';
import {
  currentFolder,
  cursorPlace,
  listFolders,
  openPlace,
  selectedText,
} from './editor_places.js';
import { KernelLink } from './kernel_link.js';
import { locateCodekernel } from './locate_codekernel.js';
import { offerMcpServers } from './mcp_servers.js';
import { PlacesView } from './places_view.js';
import { quickSearch } from './quick_search.js';
import { SearchView } from './search_view.js';
import { StatusItem } from './status_item.js';

const INSTALL_PAGE = 'https://github.com/codekernel/codekernel#start';

/** @type {KernelLink | null} */
let current = null;

/** @param {vscode.ExtensionContext} context */
export async function activate(context) {
  const locate = () => locateCodekernel(getSettings().get('path', ''));
  const link = new KernelLink(locate, {
    onIndexing: () => status.refresh(),
    onLost: (_folder, reason) => status.showFailure(reason),
  });
  current = link;
  const status = new StatusItem(link, explain, (isBusy) => search.refresh(isBusy));
  const places = new PlacesView(link);
  const search = new SearchView(link, (place) => showRelated(place), explain);
  const ask = new AskView(link, explain);
  const keep = { webviewOptions: { retainContextWhenHidden: true } };

  /** @param {any} [place] */
  async function showRelated(place) {
    const at = place ? { ...place, line: place.beginLine } : cursorPlace();
    if (at) await places.showRelated(at);
    else vscode.window.showInformationMessage('Place the cursor in a file of the folder.');
  }

  /** @param {'callers' | 'callees'} direction */
  async function showCalls(direction) {
    const at = cursorPlace();
    if (at?.symbol) await places.showCalls(at, direction);
    else vscode.window.showInformationMessage('Place the cursor on a name.');
  }

  /** Sessions of the folders of the window, and no others. */
  async function followFolders() {
    if (!getSettings().get('indexOnStart', true)) return;
    try {
      await Promise.all(listFolders().map((folder) => link.open(folder)));
    } catch (error) {
      status.showFailure(error);
      await offerHelp(error);
    }
  }

  /** @type {Record<string, (...words: any[]) => unknown>} */
  const commands = {
    search: () => search.show(selectedText()),
    quickSearch: () => quickSearch(link, selectedText(), explain),
    ask: () => ask.show(selectedText()),
    newConversation: () => ask.begin(),
    related: () => showRelated(),
    callers: () => showCalls('callers'),
    callees: () => showCalls('callees'),
    clearPlaces: () => places.clear(),
    openPlace: (place) => openPlace(place),
    status: () => showStatus(link),
    pauseIndexing: () => pauseIndexing(link, status),
    restart: async () => {
      await link.stop();
      await followFolders();
    },
    openSettingsFile: () => openFile(path.join(link.userData, 'settings.json')),
    showLog: () => openFile(link.logFile ?? path.join(link.userData, 'logs', 'kernel.log')),
  };
  for (const [name, run] of Object.entries(commands)) {
    const guarded = async (/** @type {any[]} */ ...words) => {
      try {
        await run(...words);
      } catch (error) {
        await offerHelp(error);
      }
    };
    context.subscriptions.push(vscode.commands.registerCommand(`codekernel.${name}`, guarded));
  }
  context.subscriptions.push(
    status,
    places.tree,
    vscode.window.registerWebviewViewProvider(SearchView.id, search, keep),
    vscode.window.registerWebviewViewProvider(AskView.id, ask, keep),
    vscode.window.onDidChangeActiveTextEditor(() => status.refresh()),
    vscode.workspace.onDidChangeWorkspaceFolders(async ({ removed }) => {
      await Promise.all(removed.map(({ uri }) => link.close(uri.fsPath)));
      await followFolders();
    }),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (!event.affectsConfiguration('codekernel.path')) return;
      await link.stop();
      await followFolders();
    }),
    offerMcpServers(locate, context.extension.packageJSON.version),
  );
  followFolders(); // not awaited: an index may take its time to open
}

/** The kernel goes on for others; this client leaves. */
export async function deactivate() {
  await current?.end();
  current = null;
}

function getSettings() {
  return vscode.workspace.getConfiguration('codekernel');
}

/** @param {unknown} error */
function explain(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {unknown} error */
async function offerHelp(error) {
  const { code } = /** @type {{ code?: string }} */ (error);
  if (code !== 'KERNEL_NOT_FOUND') {
    vscode.window.showErrorMessage(`codekernel: ${explain(error)}`);
    return;
  }
  const [install, settings] = ['How to Install', 'Open Settings'];
  const chosen = await vscode.window.showErrorMessage(explain(error), install, settings);
  if (chosen === install) await vscode.env.openExternal(vscode.Uri.parse(INSTALL_PAGE));
  if (chosen === settings) {
    await vscode.commands.executeCommand('workbench.action.openSettings', 'codekernel.path');
  }
}

/** @param {KernelLink} link */
async function showStatus(link) {
  const folder = currentFolder();
  if (!folder) {
    vscode.window.showInformationMessage('Open a folder: codekernel indexes it.');
    return;
  }
  const index = await (await link.open(folder)).request('getIndexStatus');
  const choices = [
    { label: index.paused ? 'Resume Indexing' : 'Pause Indexing', command: 'pauseIndexing' },
    { label: 'Search the Code', command: 'search' },
    { label: 'Open settings.json of codekernel', command: 'openSettingsFile' },
    { label: 'Show Log', command: 'showLog' },
    { label: 'Connect Again', command: 'restart' },
  ];
  const title = `${index.files} files, ${index.chunks} chunks, ${index.state}`;
  const chosen = await vscode.window.showQuickPick(choices, { title });
  if (chosen) await vscode.commands.executeCommand(`codekernel.${chosen.command}`);
}

/**
 * @param {KernelLink} link
 * @param {StatusItem} status
 */
async function pauseIndexing(link, status) {
  const folder = currentFolder();
  if (!folder) return;
  const session = await link.open(folder);
  const { paused } = await session.request('getIndexStatus');
  await session.request('pauseIndexing', { paused: !paused });
  status.refresh();
}

/** @param {string} file */
async function openFile(file) {
  const uri = vscode.Uri.file(file);
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
}
