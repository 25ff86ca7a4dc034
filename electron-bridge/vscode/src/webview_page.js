/** The frame of the two pages that are shown in the side bar. */

import { fileURLToPath } from 'node:url';

import * as vscode from 'vscode';

/** Laid out alike in the project and in the extension that is installed. */
const MEDIA = vscode.Uri.file(fileURLToPath(new URL('../media', import.meta.url)));
const PAGES = vscode.Uri.file(fileURLToPath(new URL('../../app/pages', import.meta.url)));

/**
 * Show a page of media/: a style sheet, a script, and nothing else.
 *
 * @param {vscode.Webview} webview
 * @param {string} name
 */
export function showPage(webview, name) {
  webview.options = { enableScripts: true, localResourceRoots: [MEDIA, PAGES] };
  const uriOf = (/** @type {string} */ file) =>
    webview.asWebviewUri(vscode.Uri.joinPath(MEDIA, file)).toString();
  const { cspSource } = webview;
  webview.html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src ${cspSource}; script-src ${cspSource}">
<link rel="stylesheet" href="${uriOf('page.css')}">
<script type="module" src="${uriOf(`${name}.js`)}"></script>
</head>
<body data-page="${name}"></body>
</html>`;
}
