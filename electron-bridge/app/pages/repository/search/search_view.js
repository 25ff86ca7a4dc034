/** The search tab: the box, its filters, and the list of what was found. */

import { copyText } from '../../common/copy_text.js';
import { makeRenderer } from '../../common/renderer.js';
import { onLanguageChange, t } from '../../common/i18n.js';
import { kernelState, onKernelState } from '../../common/kernel_state.js';
import { html } from '../../common/lit.js';
import { onGrammar } from '../code/grammars.js';
import { marksOf } from '../code/marks.js';
import { openInEditor } from '../viewer/editor.js';
import { lineRange } from '../viewer/file_path.js';
import { VirtualList } from '../virtual/virtual_list.js';
import { searchBox } from './box.js';
import { beforeList, afterList, countLine } from './result_notices.js';
import { facetsOf } from './facets.js';
import { chips } from './filter_chips.js';
import { showKeys } from './keys_dialog.js';
import { parseQuery } from './query_parts.js';
import { forgetColours, resultCard } from './result_card.js';
import { SearchState } from './search_state.js';

/** @typedef {import('./search_state.js').SearchResult} SearchResult */

/** Pixels; a card with a dozen lines of code. */
const GUESSED_HEIGHT = 260;

/**
 * @param {HTMLElement} container
 * @param {import('../main.js').Page} page
 * @returns {import('../main.js').View}
 */
export function mountSearch(container, page) {
  const scroller = element('div', 'search-results');
  const listElement = element('div', 'result-list');
  const state = new SearchState(page.repoName, { changed, found });

  /** @type {VirtualList<SearchResult>} */
  const list = new VirtualList({
    scroller,
    element: listElement,
    label: () => t('search.results'),
    keyOf: ({ chunkId }) => chunkId,
    guess: GUESSED_HEIGHT,
    rowLabel: (result) => labelOf(result),
    row: (result, _index, isActive) => resultCard(result, cardContext(result, isActive)),
    onKey: (event, result) => resultKey(event, result),
    onOpen: (_event, result) => open(result),
    onLeave: focusBox,
  });

  const draw = makeRenderer(container, template);
  const drawAround = makeRenderer(scroller, around);

  function template() {
    const parts = parseQuery(state.query);
    return html`<div class="search-head">
        <div class="search-head-inside">
          ${searchBox(state, { toResults: () => list.focus(0) })}
          ${chips(state, parts, facetsOf(state.results, parts), {
            setQuery,
            showKeys,
          })}
          <p class="search-count faint" role="status" aria-live="polite">${countLine(state)}</p>
        </div>
      </div>
      ${scroller}`;
  }

  function around() {
    return html`${beforeList(state, page, setQuery)} ${listElement} ${afterList(state)}`;
  }

  function changed() {
    draw();
    drawAround();
  }

  /** @param {boolean} isMore */
  function found(isMore) {
    const firstNew = isMore ? list.count : 0;
    list.setItems(state.results, { keepPlace: isMore });
    if (isMore && state.results.length > firstNew) list.focus(firstNew);
    changed();
  }

  /** @param {string} query */
  function setQuery(query) {
    state.search(query);
    changed();
    focusBox();
  }

  /**
   * @param {SearchResult} result
   * @param {boolean} isActive
   */
  function cardContext(result, isActive) {
    const { chunkId } = result;
    const toggled = (/** @type {Set<number>} */ set) => () => {
      if (!set.delete(chunkId)) set.add(chunkId);
      list.now();
    };
    return {
      isActive,
      isExpanded: state.expanded.has(chunkId),
      isExplained: state.explained.has(chunkId),
      toggleExpanded: toggled(state.expanded),
      toggleExplained: toggled(state.explained),
      open: () => open(result),
      edit: () => edit(result),
      copy: () => copy(result),
    };
  }

  /** @param {SearchResult} result */
  function open(result) {
    state.note();
    const { filePath, beginLine, endLine, content, language } = result;
    const marks = marksOf(result.highlightedContent, content);
    page.viewer.open({ filePath, beginLine, endLine, content, language, marks });
  }

  /** @param {SearchResult} result */
  function edit({ filePath, beginLine }) {
    state.note();
    openInEditor(filePath, beginLine + 1);
  }

  /** @param {SearchResult} result */
  function copy({ filePath, beginLine }) {
    state.note();
    copyText(`${filePath}:${beginLine + 1}`);
  }

  /**
   * @param {KeyboardEvent} event
   * @param {SearchResult} result
   */
  function resultKey(event, result) {
    const hasCommand = event.ctrlKey || event.metaKey;
    const isOnButton = /** @type {HTMLElement} */ (event.target).closest('button, a');
    if (event.key === 'Enter' && hasCommand) edit(result);
    else if (event.key === 'Enter' && !isOnButton) open(result);
    else if (event.key === 'c' && !hasCommand && !event.altKey) copy(result);
    else if (event.key === 'Escape') focusBox();
    else return;
    event.preventDefault();
  }

  /** @param {KeyboardEvent} event */
  function pageKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const isTyping = target.closest('input, textarea, select, dialog');
    if (!isShown || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '/') focusBox();
    else if (event.key === '?') showKeys();
    else return;
    event.preventDefault();
  }

  function focusBox() {
    const box = /** @type {HTMLTextAreaElement | null} */ (container.querySelector('#query'));
    box?.focus();
    box?.select();
  }

  let isShown = false;
  let wasWorking = false;
  document.addEventListener('keydown', pageKey);
  page.session.onChange(() => {
    if (page.session.isPrepared && state.failure) state.again();
    drawAround();
  });
  onKernelState(() => kernelState().state === 'running' && state.failure && state.again());
  page.watch.onChange(() => {
    // Nothing was found while the index was being made: now there may be something.
    if (wasWorking && !page.watch.isWorking && state.results.length === 0) state.again();
    wasWorking = page.watch.isWorking;
    if (state.results.length === 0) drawAround();
  });
  onGrammar(() => {
    forgetColours();
    list.draw();
  });
  onLanguageChange(() => list.draw());

  return {
    shown: () => {
      isShown = true;
      list.draw();
      if (!document.activeElement || document.activeElement === document.body) focusBox();
    },
    hidden: () => {
      isShown = false;
    },
  };
}

/** @param {SearchResult} result */
function labelOf({ filePath, beginLine, endLine, symbol }) {
  const lines = lineRange(beginLine, endLine);
  return t('result.label', { path: filePath, lines, symbol: symbol.replaceAll('>', ', ') });
}

/**
 * @param {string} tag
 * @param {string} className
 */
function element(tag, className) {
  const made = document.createElement(tag);
  made.className = className;
  return made;
}
