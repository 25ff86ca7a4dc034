/** Between places of the kernel and the editor: what is selected, and opening what was found. */

import path from 'node:path';

import * as vscode from 'vscode';

/**
 * @typedef {{ folder: string, filePath: string, beginLine: number, endLine: number }} CodePlace
 *   lines from 0, the last is out
 */

/** @returns {string[]} the folders of the window that are on this machine's disk */
export function listFolders() {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.filter(({ uri }) => uri.scheme === 'file').map(({ uri }) => uri.fsPath);
}

/** @returns {string | undefined} the folder of the active editor, else the first */
export function currentFolder() {
  const uri = vscode.window.activeTextEditor?.document.uri;
  const around = uri && vscode.workspace.getWorkspaceFolder(uri);
  return around?.uri.scheme === 'file' ? around.uri.fsPath : listFolders()[0];
}

/** @returns {string} what is selected, if it is one line or part of one */
export function selectedText() {
  const editor = vscode.window.activeTextEditor;
  if (!editor || !editor.selection.isSingleLine) return '';
  return editor.document.getText(editor.selection).trim();
}

/**
 * The name at the cursor, its file and line.
 *
 * @returns {{ folder: string, filePath: string, line: number, symbol: string } | undefined}
 */
export function cursorPlace() {
  const editor = vscode.window.activeTextEditor;
  const around = editor && vscode.workspace.getWorkspaceFolder(editor.document.uri);
  if (!editor || around?.uri.scheme !== 'file') return undefined;
  const { document, selection } = editor;
  const folder = around.uri.fsPath;
  const filePath = path.relative(folder, document.uri.fsPath).split(path.sep).join('/');
  const word = document.getWordRangeAtPosition(selection.active);
  const symbol = word ? document.getText(word) : '';
  return { folder, filePath, line: selection.active.line, symbol };
}

/**
 * Show a place; a preview leaves the focus where it is.
 *
 * @param {CodePlace} place
 * @param {{ isPreview?: boolean }} [options]
 */
export async function openPlace(place, { isPreview = false } = {}) {
  const uri = vscode.Uri.file(path.join(place.folder, ...place.filePath.split('/')));
  const document = await vscode.workspace.openTextDocument(uri);
  const last = Math.max(place.beginLine, Math.min(place.endLine, document.lineCount) - 1);
  const begin = new vscode.Position(Math.min(place.beginLine, document.lineCount - 1), 0);
  const selection = new vscode.Range(begin, document.lineAt(Math.max(0, last)).range.end);
  const options = { selection, preview: true, preserveFocus: isPreview };
  const editor = await vscode.window.showTextDocument(document, options);
  editor.revealRange(selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
