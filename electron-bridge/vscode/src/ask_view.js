/** The view "Ask": questions to a chat model, their streamed answers, citations that open. */

import * as vscode from 'vscode';

import { currentFolder, openPlace } from './editor_places.js';
import { showPage } from './webview_page.js';

/** @typedef {import('./kernel_link.js').KernelLink} KernelLink */
/** @typedef {import('../../index.d.ts').ConversationPart} ConversationPart */

/** @implements {vscode.WebviewViewProvider} */
export class AskView {
  static id = 'codekernel.askView';
  /** @type {vscode.WebviewView | undefined} */
  #view;
  /** @type {AbortController | null} */
  #running = null;
  #conversationId = Date.now();
  #folder = '';
  #text = '';
  /** Whether its page takes the focus when it is there. */
  #isWanted = false;

  /**
   * @param {KernelLink} link
   * @param {(error: unknown) => string} explain
   */
  constructor(link, explain) {
    this.link = link;
    this.explain = explain;
  }

  /** @param {vscode.WebviewView} view */
  resolveWebviewView(view) {
    this.#view = view;
    view.onDidDispose(() => {
      this.#view = undefined;
      this.#running?.abort();
    });
    view.webview.onDidReceiveMessage((message) => this.#answer(message));
    showPage(view.webview, 'ask');
  }

  /**
   * Bring the view to the front, with a text to begin a question with.
   *
   * @param {string} text
   */
  async show(text) {
    this.#text = text;
    this.#isWanted = true;
    await vscode.commands.executeCommand(`${AskView.id}.focus`);
    this.#post({ type: 'draft', text });
  }

  begin() {
    this.#running?.abort();
    this.#conversationId = Date.now();
    this.#post({ type: 'cleared' });
  }

  /** @param {object} message */
  #post(message) {
    this.#view?.webview.postMessage(message);
  }

  /** @param {any} message */
  async #answer(message) {
    if (message.type === 'ready') {
      if (this.#isWanted) this.#post({ type: 'draft', text: this.#text });
      await this.#sayModels();
    }
    if (message.type === 'stop') this.#running?.abort();
    if (message.type === 'settings') {
      await vscode.commands.executeCommand('codekernel.openSettingsFile');
    }
    if (message.type === 'ask') await this.#ask(message.query, message.model);
    if (message.type === 'open') await this.#open(message.place);
  }

  async #sayModels() {
    try {
      const models = await this.link.listModels();
      const wanted = vscode.workspace.getConfiguration('codekernel').get('model', '');
      this.#post({ type: 'models', models, model: models.includes(wanted) ? wanted : models[0] });
    } catch (error) {
      this.#post({ type: 'failed', message: this.explain(error) });
    }
  }

  /**
   * @param {string} query
   * @param {string} modelName
   */
  async #ask(query, modelName) {
    const folder = currentFolder();
    if (!folder) {
      this.#post({ type: 'failed', message: 'Open a folder: questions are about its code.' });
      return;
    }
    const running = new AbortController();
    this.#running = running;
    const { signal } = running;
    const question = { modelName, query, conversationId: this.#conversationId };
    try {
      const session = await this.link.open(folder);
      this.#folder = session.path;
      for await (const part of session.converse(question, { signal })) this.#showPart(part);
    } catch (error) {
      if (!signal.aborted) this.#post({ type: 'failed', message: this.explain(error) });
    } finally {
      if (this.#running === running) this.#running = null;
      this.#post({ type: 'ended' });
    }
  }

  /** @param {ConversationPart} part */
  #showPart(part) {
    if (part.type === 'answer') this.#post({ type: 'answer', text: part.content });
    if (part.type === 'search') this.#post({ type: 'step', text: `Searched: ${part.content}` });
    if (part.type === 'annotation') this.#post({ type: 'step', text: part.content });
    if (part.type === 'result') this.#post({ type: 'source', filePath: part.content.filePath });
    if (part.type === 'done') {
      this.#post({ type: 'citations', citations: part.citations ?? [], masked: part.masked ?? 0 });
    }
  }

  /** @param {{ path: string, begin: number, end: number }} place lines from 1 */
  async #open({ path, begin, end }) {
    const lines = { beginLine: begin - 1, endLine: end };
    try {
      await openPlace({ folder: this.#folder, filePath: path, ...lines });
    } catch (error) {
      vscode.window.showWarningMessage(this.explain(error));
    }
  }
}
