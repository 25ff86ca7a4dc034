/** The status bar: the state of the current folder's index, asked for while there is news. */

import * as vscode from 'vscode';

import { currentFolder } from './editor_places.js';
import { describeStatus } from './status_text.js';

/** A busy index is asked for its state so often; one at rest is not asked at all. */
const REFRESH_MS = 1000;

export class StatusItem {
  #item = vscode.window.createStatusBarItem('codekernel.status', vscode.StatusBarAlignment.Left);
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {import('./kernel_link.js').KernelLink} link
   * @param {(error: unknown) => string} explain
   * @param {(isBusy: boolean) => void} onNews the index has more, or is complete
   */
  constructor(link, explain, onNews) {
    this.link = link;
    this.explain = explain;
    this.onNews = onNews;
    this.#item.name = 'codekernel';
    this.#item.command = 'codekernel.status';
    this.#show('$(search) codekernel', 'The index is opened by the first search.', false);
  }

  /** There is news: ask soon, once for all that happens until then. */
  refresh() {
    this.#timer ??= setTimeout(() => this.#ask(), REFRESH_MS);
  }

  /** @param {unknown} error */
  showFailure(error) {
    this.#show('$(error) codekernel', this.explain(error), true);
  }

  dispose() {
    clearTimeout(this.#timer);
    this.#item.dispose();
  }

  async #ask() {
    this.#timer = undefined;
    const folder = currentFolder();
    if (!folder) {
      this.#show('$(search) codekernel', 'No folder is open.', false);
      return;
    }
    try {
      const session = await this.link.open(folder);
      const { text, tooltip, isBusy, isWarning } = describeStatus(
        await session.request('getIndexStatus'),
      );
      const shown = `${session.path}\n${tooltip}`;
      if (shown !== this.#item.tooltip) this.onNews(isBusy);
      this.#show(text, shown, isWarning);
      if (isBusy) this.refresh();
    } catch (error) {
      this.showFailure(error);
    }
  }

  /**
   * @param {string} text
   * @param {string} tooltip
   * @param {boolean} isWarning
   */
  #show(text, tooltip, isWarning) {
    const warning = new vscode.ThemeColor('statusBarItem.warningBackground');
    this.#item.text = text;
    this.#item.tooltip = tooltip;
    this.#item.backgroundColor = isWarning ? warning : undefined;
    this.#item.show();
  }
}
