/** The drawer's templates. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { guard, html, nothing } from '../../common/lit.js';
import { failureState, loadingState } from '../../common/states.js';
import { colouredLines } from '../code/colours.js';
import { numberedLines } from '../code/code_lines.js';
import { isChanged, linesOfPage } from './file_pages.js';
import { insightView } from './insight_view.js';
import { hasEditor } from './editor.js';
import { lineRange, pathText } from './file_path.js';

/** @typedef {import('./viewer.js').Viewer} Viewer */
/** @typedef {import('./viewer.js').Shown} Shown */

/**
 * @param {Viewer} viewer
 * @param {Shown} shown
 */
export function viewerTemplate(viewer, shown) {
  return html`<div
    class="viewer-inside"
    @keydown=${(/** @type {KeyboardEvent} */ event) => keys(event, viewer)}
  >
    <header class="viewer-head">
      ${viewer.hasTrail ? backButton(viewer) : nothing}
      <h2 class="viewer-title" id=${viewer.titleId}>
        ${pathText(shown.filePath)}<span class="path-lines"
          >:${lineRange(shown.beginLine, shown.endLine)}</span
        >
      </h2>
      <div class="viewer-actions">
        <button
          class="button small"
          type="button"
          title=${t('insight.hint')}
          aria-expanded=${String(viewer.insight !== null)}
          @click=${() => viewer.toggleInsight()}
        >
          ${icon('graph')} ${t('insight.title')}
        </button>
        ${
          hasEditor()
            ? html`<button class="button small" type="button" @click=${() => viewer.edit()}>
                ${icon('external')} ${t('editor.open')}
              </button>`
            : nothing
        }
        <button class="button small" type="button" @click=${() => viewer.copyPlace()}>
          ${icon('copy')} ${t('viewer.copyPlace')}
        </button>
        <button class="button small" type="button" @click=${() => viewer.copyLines()}>
          ${icon('copy')} ${t('viewer.copyLines')}
        </button>
        <button
          class="button small quiet icon viewer-close"
          type="button"
          aria-label=${t('act.close')}
          @click=${() => viewer.close()}
        >
          ${icon('close')}
        </button>
      </div>
    </header>
    ${notices(viewer, shown)}
    <div class="viewer-middle">
      <div
        class="viewer-code code"
        tabindex="0"
        role="region"
        aria-label=${shown.filePath}
        @dblclick=${() => viewer.insight && askSelected(viewer)}
      >
        ${content(viewer, shown)}
      </div>
      ${viewer.insight ? insight(viewer, viewer.insight) : nothing}
    </div>
    <div class="viewer-foot faint">
      <span role="status"
        >${
          viewer.pages.length > 0
            ? t('viewer.lines', {
                from: viewer.begin + 1,
                to: viewer.end,
                count: viewer.lineCount,
              })
            : nothing
        }</span
      >
      ${viewer.lineCount > 0 ? goToLine(viewer) : nothing}
    </div>
  </div>`;
}

/** @param {Viewer} viewer */
function backButton(viewer) {
  return html`<button
    class="button small quiet icon"
    type="button"
    aria-label=${t('insight.back')}
    title=${`${t('insight.back')} (b)`}
    @click=${() => viewer.back()}
  >
    ${icon('chevron-left')}
  </button>`;
}

/**
 * @param {Viewer} viewer
 * @param {import('./insight.js').Insight} known
 */
function insight(viewer, known) {
  return insightView(known, {
    open: (place) => viewer.follow(place),
    ask: (place) => viewer.showInsight(place),
    leave: () => viewer.leaveInsight(),
    close: () => viewer.closeInsight(),
  });
}

/** @param {Viewer} viewer */
function askSelected(viewer) {
  const name = viewer.selectedName();
  if (name) viewer.showInsight(name);
}

/** @param {Viewer} viewer */
function goToLine(viewer) {
  const go = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const field = /** @type {HTMLFormElement} */ (event.target).querySelector('input');
    if (!field) return;
    viewer.goToLine(Number(field.value));
    field.value = '';
  };
  return html`<form class="viewer-goto" @submit=${go}>
    <label>
      ${t('viewer.goTo')}
      <input
        class="input"
        inputmode="numeric"
        size="6"
        autocomplete="off"
        title=${t('viewer.goTo.hint')}
      />
    </label>
  </form>`;
}

/**
 * @param {Viewer} viewer
 * @param {Shown} shown
 */
function notices(viewer, shown) {
  if (isGone(viewer.failure)) {
    return html`<p class="notice warn viewer-notice" role="alert">${t('viewer.gone')}</p>`;
  }
  if (viewer.failure) {
    return html`<div class="viewer-notice">${failureState(viewer.failure)}</div>`;
  }
  if (!isChanged(viewer.pages, shown)) return nothing;
  return html`<p class="notice warn viewer-notice">${t('viewer.changed')}</p>`;
}

/** The kernel's code for each path that leads to no file. @param {unknown} failure */
function isGone(failure) {
  return /** @type {any} */ (failure)?.code === 'INVALID_PATH';
}

/**
 * @param {Viewer} viewer
 * @param {Shown} shown
 */
function content(viewer, shown) {
  if (viewer.pages.length === 0) {
    if (viewer.isLoading) return loadingState(t('viewer.loading'));
    return viewer.failure && shown.content ? asFound(shown) : nothing;
  }
  const isHit = (/** @type {number} */ number) =>
    number > shown.beginLine && number <= shown.endLine;
  return html`${
    viewer.begin > 0
      ? moreButton(t('viewer.above'), viewer.isLoading, () => viewer.loadAbove())
      : nothing
  }
  ${viewer.pages.map((page) => {
    const lines = linesOfPage(page, viewer.language, shown);
    return html`<div class="code-page">
      ${guard([lines, shown], () => numberedLines(lines, { from: page.begin + 1, isHit }))}
    </div>`;
  })}
  ${
    viewer.end < viewer.lineCount
      ? moreButton(t('viewer.below'), viewer.isLoading, () => viewer.loadBelow())
      : nothing
  }`;
}

/**
 * The file cannot be read; what was found of it is still known.
 *
 * @param {Shown} shown
 */
function asFound({ content: text = '', language = '', marks = [], beginLine }) {
  return html`<p class="viewer-as-found muted">${t('viewer.asFound')}</p>
    ${numberedLines(colouredLines(text, language, marks), { from: beginLine + 1 })}`;
}

/**
 * @param {string} label
 * @param {boolean} isBusy
 * @param {() => void} load
 */
function moreButton(label, isBusy, load) {
  return html`<button class="viewer-more" type="button" ?disabled=${isBusy} @click=${load}>
    ${label}
  </button>`;
}

/**
 * @param {KeyboardEvent} event
 * @param {Viewer} viewer
 */
function keys(event, viewer) {
  const hasCommand = event.ctrlKey || event.metaKey;
  if (event.key === 'Enter' && hasCommand) viewer.edit();
  else if (isTyping(event)) return;
  else if (event.key === 'c' && !hasCommand && !event.altKey) viewer.copyPlace();
  else if (event.key === 'g' && !hasCommand && !event.altKey) focusGoTo(event);
  else if (event.key === 'i' && !hasCommand && !event.altKey) viewer.toggleInsight();
  else if (event.key === 'b' && !hasCommand && !event.altKey) viewer.back();
  else return;
  event.preventDefault();
}

/** @param {KeyboardEvent} event */
function isTyping({ target }) {
  return /** @type {HTMLElement} */ (target).closest('input') !== null;
}

/** @param {KeyboardEvent} event */
function focusGoTo({ currentTarget }) {
  const inside = /** @type {HTMLElement} */ (currentTarget);
  /** @type {HTMLElement | null} */ (inside.querySelector('.viewer-goto input'))?.focus();
}
