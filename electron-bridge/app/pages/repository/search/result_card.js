/** One result: where it is, how good, and its code. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { guard, html, nothing } from '../../common/lit.js';
import { colouredLines } from '../code/colours.js';
import { numberedLines } from '../code/code_lines.js';
import { marksOf, marksWithin } from '../code/marks.js';
import { hasEditor } from '../viewer/editor.js';
import { lineRange, pathText } from '../viewer/file_path.js';
import { firstLines, isCollapsible, lineAt, lineCountOf, shownLines } from './snippet.js';
import { whyPanel } from './score_explanation.js';

/** @typedef {import('./search_state.js').SearchResult} SearchResult */

/**
 * @typedef {object} CardContext
 * @property {boolean} isActive the keys of the list lead to it, and Tab to its buttons
 * @property {boolean} isExpanded
 * @property {boolean} isExplained
 * @property {() => void} toggleExpanded
 * @property {() => void} toggleExplained
 * @property {() => void} open
 * @property {() => void} edit
 * @property {() => void} copy
 */

/** @type {Readonly<Record<string, string>>} */
const FRESHNESS = { 'changed since indexed': 'changed', 'embedding pending': 'pending' };
/** @type {WeakMap<SearchResult, Map<boolean, ReturnType<typeof snippetOf>>>} */
let snippets = new WeakMap();

/** Another grammar is there: what was in one colour is not any more. */
export function forgetColours() {
  snippets = new WeakMap();
}

/**
 * @param {SearchResult} result
 * @param {CardContext} context
 */
export function resultCard(result, context) {
  const { filePath, beginLine, endLine, symbol, language, why } = result;
  const tab = context.isActive ? 0 : -1;
  return html`<article class="result card">
    <header class="result-head">
      <button
        class="result-open"
        type="button"
        tabindex=${tab}
        title=${filePath}
        @click=${context.open}
      >
        ${pathText(filePath)}<span class="path-lines">:${lineRange(beginLine, endLine)}</span>
      </button>
      ${symbol ? html`<span class="result-symbol" title=${symbol}>${symbolText(symbol)}</span>` : nothing}
      <span class="result-side">
        ${freshnessBadge(result)}
        <span class="badge">${language}</span>
        ${scoreBar(result.score)}
        <span class="result-actions">
          ${
            why
              ? actionButton(
                  'info',
                  t('why.show'),
                  tab,
                  context.toggleExplained,
                  context.isExplained,
                )
              : nothing
          }
          ${actionButton('copy', t('result.copy'), tab, context.copy)}
          ${hasEditor() ? actionButton('external', t('editor.open'), tab, context.edit) : nothing}
        </span>
      </span>
    </header>
    ${why && context.isExplained ? whyPanel(why, result.score) : nothing}
    ${code(result, context, tab)}
  </article>`;
}

/**
 * @param {SearchResult} result
 * @param {CardContext} context
 * @param {number} tab
 */
function code(result, { isExpanded, toggleExpanded }, tab) {
  const { lines, shown, lineCount } = cachedSnippet(result, isExpanded);
  const hidden = shown.above + shown.below;
  const isLong = hidden > 0 || (isExpanded && isCollapsible(lineCount));
  return html`<div class="code result-code">
      ${guard([lines], () => numberedLines(lines, { from: result.beginLine + shown.begin + 1 }))}
    </div>
    ${
      isLong
        ? html`<button
            class="result-more"
            type="button"
            tabindex=${tab}
            aria-expanded=${isExpanded ? 'true' : 'false'}
            @click=${toggleExpanded}
          >
            ${isExpanded ? t('result.less') : t('result.more', { count: hidden })}
          </button>`
        : nothing
    }`;
}

/**
 * @param {SearchResult} result
 * @param {boolean} isExpanded
 */
function cachedSnippet(result, isExpanded) {
  const known = snippets.get(result) ?? new Map();
  snippets.set(result, known);
  const snippet = known.get(isExpanded) ?? snippetOf(result, isExpanded);
  known.set(isExpanded, snippet);
  return snippet;
}

/**
 * @param {SearchResult} result
 * @param {boolean} isExpanded
 */
function snippetOf({ content, highlightedContent, language }, isExpanded) {
  const marks = marksOf(highlightedContent, content);
  const lineCount = lineCountOf(content);
  const shown = shownLines({ lineCount, firstMarked: lineAt(content, marks[0]?.[0]), isExpanded });
  // Colours depend on what stands above, and cost time for what stands below.
  const text = firstLines(content, shown.end);
  const lines = colouredLines(text, language, marksWithin(marks, 0, text.length));
  return { lines: lines.slice(shown.begin), shown, lineCount };
}

/** @param {SearchResult} result */
function freshnessBadge({ freshness }) {
  const name = FRESHNESS[freshness];
  if (!name) return nothing;
  return html`<span class="badge warn" title=${t(`fresh.${name}.hint`)}
    >${t(`fresh.${name}`)}</span
  >`;
}

/** @param {number} score 0 to 1 */
function scoreBar(score) {
  const text = t('result.score', { score: Math.round(score * 100) });
  return html`<span class="score" title=${text}>
    <span class="visually-hidden">${text}</span>
    <span class="score-bar" .style=${`width:${Math.max(4, score * 100)}%`}></span>
  </span>`;
}

/** @param {string} symbol names with `>` between them */
function symbolText(symbol) {
  return symbol.split('>').map((name) => name.trim()).join(' › '); // prettier-ignore
}

/**
 * @param {'info' | 'copy' | 'external'} shape
 * @param {string} label
 * @param {number} tab
 * @param {() => void} act
 * @param {boolean} [isOn] of a button that opens something
 */
function actionButton(shape, label, tab, act, isOn) {
  return html`<button
    class="button small quiet icon"
    type="button"
    tabindex=${tab}
    aria-label=${label}
    title=${label}
    aria-expanded=${isOn === undefined ? nothing : isOn ? 'true' : 'false'}
    @click=${act}
  >
    ${icon(shape)}
  </button>`;
}
