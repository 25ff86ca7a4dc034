/** What can be done with a result: it is opened, asked about, edited, copied. */

import { copyText } from '../../common/copy_text.js';
import { navigate } from '../../common/navigation.js';
import { openedText } from '../../common/page_address.js';
import { marksOf, wholeWords } from '../code/marks.js';
import { openInEditor } from '../viewer/editor.js';

/** @typedef {import('./search_state.js').SearchResult} SearchResult */

export class ResultActions {
  /**
   * @param {import('./search_state.js').SearchState} state
   * @param {import('../main.js').Page} page
   * @param {{ show: (result: SearchResult) => void, inspect: (result: SearchResult) => void }} how
   *   one of this repository is shown: its source, or what is known of it
   */
  constructor(state, page, { show, inspect }) {
    this.state = state;
    this.page = page;
    this.show = show;
    this.showInsight = inspect;
  }

  /** Whether it is of another repository. @param {SearchResult} result */
  isElsewhere({ repoName = this.page.repoName }) {
    return repoName !== this.page.repoName;
  }

  /** A path with a space cannot be told from the words behind it. @param {SearchResult} result */
  canAsk(result) {
    return !this.isElsewhere(result) && !/\s/.test(result.filePath);
  }

  /** One of another repository is opened there. @param {SearchResult} result */
  open(result) {
    this.state.note();
    if (!this.isElsewhere(result)) {
      this.show(result);
      return;
    }
    const { repoName } = result;
    const { query } = this.state;
    navigate({
      page: 'repository',
      repoName,
      part: 'search',
      query,
      opened: openedText(result),
    });
  }

  /** @param {SearchResult} result */
  ask(result) {
    this.state.note();
    this.page.askAbout(openedText(result));
  }

  /** Callers, tests and commits. @param {SearchResult} result */
  inspect(result) {
    this.state.note();
    if (this.isElsewhere(result)) this.open(result);
    else this.showInsight(result);
  }

  /** @param {SearchResult} result */
  edit(result) {
    this.state.note();
    if (this.isElsewhere(result)) this.open(result);
    else openInEditor(result.filePath, result.beginLine + 1);
  }

  /** @param {SearchResult} result */
  copy({ filePath, beginLine }) {
    this.state.note();
    copyText(`${filePath}:${beginLine + 1}`);
  }

  /** What a key does to a result. @param {KeyboardEvent} event @param {SearchResult} result */
  actOnKey({ key, ctrlKey, metaKey, altKey, target }, result) {
    const hasCommand = ctrlKey || metaKey;
    const isOnButton = /** @type {HTMLElement} */ (target).closest('button, a');
    if (key === 'Enter' && hasCommand) this.edit(result);
    else if (key === 'Enter' && !isOnButton) this.open(result);
    else if (key === 'c' && !hasCommand && !altKey) this.copy(result);
    else if (key === 'i' && !hasCommand && !altKey) this.inspect(result);
    else if (key === 'a' && !hasCommand && !altKey && this.canAsk(result)) this.ask(result);
    else return false;
    return true;
  }
}

/**
 * A result as the viewer shows it.
 *
 * @param {SearchResult} result
 * @returns {import('../viewer/viewer.js').Shown}
 */
export function shownOf({ filePath, beginLine, endLine, content, highlightedContent, language }) {
  const marks = wholeWords(marksOf(highlightedContent, content), content);
  return { filePath, beginLine, endLine, content, language, marks };
}
