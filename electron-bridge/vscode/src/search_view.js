/** The view "Search": answers the queries of its page and opens what is chosen there. */

import * as vscode from 'vscode';

import { listFolders, openPlace } from './editor_places.js';
import { showPage } from './webview_page.js';

/** @typedef {import('./kernel_link.js').KernelLink} KernelLink */

/** @implements {vscode.WebviewViewProvider} */
export class SearchView {
  static id = 'codekernel.searchView';
  /** @type {vscode.WebviewView | undefined} */
  #view;
  /** Said to the page as soon as there is one. */
  #query = '';
  /** Whether its page takes the focus when it is there. */
  #isWanted = false;

  /**
   * @param {KernelLink} link
   * @param {(place: import('./editor_places.js').CodePlace) => unknown} showRelated
   * @param {(error: unknown) => string} explain
   */
  constructor(link, showRelated, explain) {
    this.link = link;
    this.showRelated = showRelated;
    this.explain = explain;
  }

  /** @param {vscode.WebviewView} view */
  resolveWebviewView(view) {
    this.#view = view;
    view.onDidDispose(() => (this.#view = undefined));
    view.webview.onDidReceiveMessage((message) => this.#answer(message));
    showPage(view.webview, 'search');
  }

  /**
   * Bring the view to the front, with a query if there is one.
   *
   * @param {string} query
   */
  async show(query) {
    this.#query = query;
    this.#isWanted = true;
    await vscode.commands.executeCommand(`${SearchView.id}.focus`);
    this.#sayQuery();
  }

  /**
   * The index has more than before.
   *
   * @param {boolean} isBusy
   */
  refresh(isBusy) {
    this.#view?.webview.postMessage({ type: 'indexed', isBusy });
  }

  #sayQuery() {
    if (!this.#isWanted) return;
    this.#view?.webview.postMessage({ type: 'query', query: this.#query });
  }

  /** @param {any} message */
  async #answer(message) {
    if (message.type === 'ready') this.#sayQuery();
    if (message.type === 'search') await this.#search(message.query, message.number);
    if (message.type === 'related') await this.showRelated(message.place);
    if (message.type !== 'open') return;
    try {
      await openPlace(message.place, { isPreview: message.isPreview });
    } catch (error) {
      vscode.window.showWarningMessage(this.explain(error));
    }
  }

  /**
   * @param {string} query
   * @param {number} number by which the page knows whether it still wants the reply
   */
  async #search(query, number) {
    const settings = vscode.workspace.getConfiguration('codekernel');
    const options = {
      limit: settings.get('searchLimit', 20),
      accuracy: settings.get('accuracy', false),
    };
    try {
      const found = await this.link.search(listFolders(), query, options);
      this.#view?.webview.postMessage({ type: 'results', number, ...found });
    } catch (error) {
      this.#view?.webview.postMessage({ type: 'failed', number, message: this.explain(error) });
    }
  }
}
