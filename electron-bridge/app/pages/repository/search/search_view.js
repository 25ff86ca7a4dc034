/** The search tab: the box, what narrows it down, the list of what was found, and its source. */

import { makeRenderer } from '../../common/renderer.js';
import { onLanguageChange, t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { kernelState, onKernelState } from '../../common/kernel_state.js';
import { html, nothing } from '../../common/lit.js';
import { openedText, parseOpened } from '../../common/page_address.js';
import { onGrammar } from '../code/grammars.js';
import { lineRange } from '../viewer/file_path.js';
import { VirtualList } from '../virtual/virtual_list.js';
import { searchBox } from './box.js';
import { beforeList, afterList, countLine, gapNotice } from './result_notices.js';
import { facetPanel } from './facet_panel.js';
import { filterChips } from './filter_chips.js';
import { FirstTips } from './first_tips.js';
import { showKeys } from './keys_dialog.js';
import { Preview } from './preview.js';
import { parseQuery } from './query_parts.js';
import { ResultActions, shownOf } from './result_actions.js';
import { forgetColours, resultCard } from './result_card.js';
import { rowsByFile } from './result_groups.js';
import { isSameScope, keyOfFile, keyOfResult, OWN } from './scope.js';
import { ScopePicker } from './scope_picker.js';
import { SearchState } from './search_state.js';

/** @typedef {import('./search_state.js').SearchResult} SearchResult */
/** @typedef {import('./result_groups.js').ResultRow} ResultRow */
/** @typedef {import('../main.js').TabPlace} TabPlace */

/** Pixels; a result with three lines of code. */
const GUESSED_HEIGHT = 84;
/** Browsers limit how often an address may change. */
const NOTE_DELAY_MS = 300;

/**
 * @param {HTMLElement} container
 * @param {import('../main.js').Page} page
 * @returns {import('../main.js').View}
 */
export function mountSearch(container, page) {
  const scroller = element('div', 'search-results');
  const listElement = element('div', 'result-list');
  const state = new SearchState(page.repoName, { changed, found });
  const preview = new Preview(() => draw());
  const tips = new FirstTips(() => drawAround());
  const actions = new ResultActions(state, page, {
    show: (result) => {
      note(openedText(result), { isNew: true });
      view(result);
    },
    inspect,
  });
  const scopePicker = new ScopePicker(page.repoName, {
    changed: () => draw(),
    choose: (scope) => {
      state.setScope(scope);
      noteSoon();
    },
  });
  let areFacetsOpen = false;
  /** What the address wants to be selected, until it was found. @type {string | undefined} */
  let wanted;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let noteTimer;

  /** @type {VirtualList<ResultRow>} */
  const list = new VirtualList({
    scroller,
    element: listElement,
    label: () => t('search.results'),
    keyOf: ({ result }) => keyOfResult(result),
    guess: GUESSED_HEIGHT,
    rowLabel: ({ result }) => labelOf(result),
    row: (row, index, isActive) => resultCard(row, cardContext(row, index, isActive)),
    onKey: (event, { result }) => resultKey(event, result),
    onOpen: (_event, { result }) => actions.open(result),
    onLeave: focusBox,
    onActive: ({ result }) => select(result),
  });

  const draw = makeRenderer(container, template);
  const drawAround = makeRenderer(scroller, around);

  function template() {
    const parts = parseQuery(state.query);
    const facets = facetPanel(state, { setQuery, draw: () => draw() });
    return html`<div class="search-head">
        ${searchBox(state, { toResults: () => list.focus(0) })}
        <div class="search-line">
          ${scopePicker.template(state.scope)}
          <div
            class="chips"
            role="group"
            aria-label=${t('filters.label')}
            ?hidden=${facets.length === 0 && parts.length === 0}
          >
            ${facets.length > 0 ? facetsButton() : nothing}
            ${filterChips(state.query, parts, setQuery)}
          </div>
          <p class="search-count faint" role="status" aria-live="polite">${countLine(state)}</p>
          ${preview.isPossible ? previewButton() : nothing}
          <button class="button small quiet chip-help" type="button" @click=${showKeys}>
            ${icon('info')} ${t('filters.help')}
          </button>
        </div>
      </div>
      <div class="search-body">
        <aside
          class=${areFacetsOpen ? 'facets open' : 'facets'}
          aria-label=${t('facets.label')}
          ?hidden=${facets.length === 0}
        >
          ${facets}
        </aside>
        ${scroller} ${preview.element}
      </div>`;
  }

  function facetsButton() {
    return html`<button
      class="chip facets-toggle"
      type="button"
      aria-expanded=${String(areFacetsOpen)}
      @click=${() => {
        areFacetsOpen = !areFacetsOpen;
        draw();
      }}
    >
      ${t('filters.label')} ${icon(areFacetsOpen ? 'chevron-up' : 'chevron-down')}
    </button>`;
  }

  function previewButton() {
    return html`<button
      class="button small quiet"
      type="button"
      aria-pressed=${String(preview.isOpen)}
      @click=${() => preview.toggle()}
    >
      ${t('preview.title')}
    </button>`;
  }

  function around() {
    return html`${gapNotice(state)} ${beforeList(state, page, setQuery, tips)} ${listElement}
    ${afterList(state)}`;
  }

  function changed() {
    draw();
    drawAround();
  }

  /** @param {boolean} isMore */
  function found(isMore) {
    const firstNew = isMore ? list.count : 0;
    list.setItems(rowsByFile(state.results, state.openFiles), { keepPlace: isMore });
    if (isMore && list.count > firstNew) list.focus(firstNew);
    changed();
    if (isMore) return;
    if (!selectOpened()) preview.show(list.active ? shownHere(list.active.result) : null);
    noteSoon();
  }

  /** @param {string} query */
  function setQuery(query) {
    state.search(query);
    changed();
    focusBox();
  }

  /** Select what the address names; what is not among the results is shown all the same. */
  function selectOpened() {
    const place = wanted === undefined ? null : parseOpened(wanted);
    wanted = undefined;
    if (!place) return false;
    const rows = rowsByFile(state.results, state.openFiles);
    const index = rows.findIndex(
      ({ result }) => result.filePath === place.filePath && result.beginLine === place.beginLine,
    );
    if (index < 0) page.viewer.open(place);
    else if (preview.isOpen) list.select(index);
    else view(rows[index].result);
    return index >= 0;
  }

  /** @param {SearchResult} result the keys have led to */
  function select(result) {
    preview.show(shownHere(result));
    if (preview.isOpen) noteSoon(openedText(result));
  }

  /** @param {string} [opened] */
  function noteSoon(opened) {
    clearTimeout(noteTimer);
    noteTimer = setTimeout(() => note(opened), NOTE_DELAY_MS);
  }

  /**
   * @param {string} [opened]
   * @param {{ isNew?: boolean }} [options]
   */
  function note(opened, options = {}) {
    clearTimeout(noteTimer);
    const query = state.query.trim() || undefined;
    const scope = state.scope;
    const isOther = query !== noted.query || !isSameScope(scope, noted.scope);
    const isNew = options.isNew ?? (isOther && Boolean(noted.query) && state.wasUsed);
    if (isOther) state.wasUsed = false;
    noted = { query, opened, scope };
    page.note('search', noted, { isNew });
  }

  /** What the address says. @type {TabPlace} */
  let noted = {};

  /**
   * @param {ResultRow} row
   * @param {number} index
   * @param {boolean} isActive
   */
  function cardContext({ result }, index, isActive) {
    const key = keyOfResult(result);
    const toggled = (/** @type {Set<string>} */ set) => () => {
      if (!set.delete(key)) set.add(key);
      list.now();
    };
    return {
      repoName: actions.isElsewhere(result) ? result.repoName : undefined,
      isActive,
      isExpanded: state.expanded.has(key),
      isExplained: state.explained.has(key),
      toggleExpanded: toggled(state.expanded),
      toggleExplained: toggled(state.explained),
      showFile: () => {
        state.openFiles.add(keyOfFile(result));
        list.setItems(rowsByFile(state.results, state.openFiles), { keepPlace: true });
        list.focus(index + 1);
      },
      open: () => actions.open(result),
      ask: actions.canAsk(result) ? () => actions.ask(result) : undefined,
      inspect: () => actions.inspect(result),
      edit: () => actions.edit(result),
      copy: () => actions.copy(result),
    };
  }

  /** The preview reads the files of this repository. @param {SearchResult} result */
  function shownHere(result) {
    return actions.isElsewhere(result) ? null : shownOf(result);
  }

  /** @param {SearchResult} result */
  function view(result) {
    page.viewer.open(shownOf(result));
    page.viewer.onClose = () => {
      if (isShown) note(preview.isOpen && list.active ? openedText(list.active.result) : undefined);
    };
  }

  /** In the preview, if that is there. @param {SearchResult} result */
  function inspect(result) {
    if (preview.inspect(shownOf(result))) return;
    actions.open(result);
    page.viewer.toggleInsight();
  }

  /**
   * @param {KeyboardEvent} event
   * @param {SearchResult} result
   */
  function resultKey(event, result) {
    if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      if (event.key === 'ArrowRight') state.expanded.add(keyOfResult(result));
      else state.expanded.delete(keyOfResult(result));
      list.now();
    } else if (event.key === 'Escape') focusBox();
    else if (!actions.actOnKey(event, result)) return;
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
    shown: (place) => {
      isShown = true;
      scopePicker.load();
      arrive(place);
      list.draw();
      if (!document.activeElement || document.activeElement === document.body) focusBox();
    },
    hidden: () => {
      isShown = false;
    },
  };

  /** @param {TabPlace} place what the address says */
  function arrive(place) {
    const { query = '', opened, scope = OWN } = place;
    const isSame = query === (noted.query ?? '') && isSameScope(scope, noted.scope);
    if (isSame && opened === noted.opened) return;
    noted = { query: place.query, opened, scope };
    state.scope = scope;
    state.wasUsed = true;
    if (!opened) page.viewer.close();
    wanted = opened;
    if (!isSame) {
      state.search(query);
      changed();
    } else if (opened) {
      selectOpened();
    }
  }
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
