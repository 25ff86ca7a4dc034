/** One result: where it is, how good, and the lines that say why it is here. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { guard, html, nothing } from '../../common/lit.js';
import { colouredLines } from '../code/colours.js';
import { numberedLines } from '../code/code_lines.js';
import { marksOf, marksWithin, wholeWords } from '../code/marks.js';
import { hasEditor } from '../viewer/editor.js';
import { lineRange, pathText } from '../viewer/file_path.js';
import { bestLines } from './best_lines.js';
import { whyPanel } from './score_explanation.js';
import { firstLines } from './snippet.js';

/** @typedef {import('./search_state.js').SearchResult} SearchResult */
/** @typedef {import('./result_groups.js').ResultRow} ResultRow */

/**
 * @typedef {object} CardContext
 * @property {string} [repoName] of a result of another repository
 * @property {boolean} isActive the keys of the list lead to it, and Tab to its buttons
 * @property {boolean} isExpanded
 * @property {boolean} isExplained
 * @property {() => void} toggleExpanded
 * @property {() => void} toggleExplained
 * @property {() => void} showFile all results of the file
 * @property {() => void} open
 * @property {() => void} [ask] a question about it, if it can be named in one
 * @property {() => void} inspect what is known of it
 * @property {() => void} edit
 * @property {() => void} copy
 */

/** @type {Readonly<Record<string, string>>} */
const FRESHNESS = { 'changed since indexed': 'changed', 'embedding pending': 'pending' };
/** The part of a score that an exact string or a regular expression has. */
const EXACT = 'exact';
/** @type {WeakMap<SearchResult, Map<boolean, ReturnType<typeof snippetOf>>>} */
let snippets = new WeakMap();

/** Another grammar is there: what was in one colour is not any more. */
export function forgetColours() {
  snippets = new WeakMap();
}

/**
 * @param {ResultRow} row
 * @param {CardContext} context
 */
export function resultCard(row, context) {
  const { result } = row;
  const { why } = result;
  const tab = context.isActive ? 0 : -1;
  const names = [
    'result',
    row.isFirst && 'first',
    row.isLast && 'last',
    context.isActive && 'active',
  ];
  const snippet = cachedSnippet(result, context.isExpanded);
  return html`<article class=${names.filter(Boolean).join(' ')}>
    <header class="result-head">
      ${place(row, context, tab)}
      <span class="result-side">
        ${freshnessBadge(result)} ${scoreMark(result)}
        <span class="result-actions">
          ${expandButton(snippet, context, tab)}
          ${
            why
              ? actionButton('info', t('why.show'), tab, context.toggleExplained, {
                  isOn: context.isExplained,
                })
              : nothing
          }
          ${actionButton('graph', t('insight.hint'), tab, context.inspect)}
          ${context.ask ? actionButton('question', t('result.ask'), tab, context.ask) : nothing}
          ${actionButton('copy', t('result.copy'), tab, context.copy)}
          ${hasEditor() && !context.repoName ? actionButton('external', t('editor.open'), tab, context.edit) : nothing}
        </span>
      </span>
    </header>
    ${why && context.isExplained ? whyPanel(why, result.score) : nothing}
    <div class="code result-code" @click=${context.open}>
      ${guard([snippet.lines], () =>
        numberedLines(snippet.lines, { from: result.beginLine + snippet.begin + 1 }),
      )}
    </div>
    ${
      row.hidden > 0
        ? html`<button class="result-more" type="button" tabindex=${tab} @click=${context.showFile}>
            ${t('result.moreInFile', { count: row.hidden })}
          </button>`
        : nothing
    }
  </article>`;
}

/**
 * @param {ResultRow} row
 * @param {CardContext} context
 * @param {number} tab
 */
function place({ result, isFirst }, context, tab) {
  const { filePath, beginLine, endLine, symbol } = result;
  return html`<button
      class=${isFirst ? 'result-open' : 'result-open further'}
      type="button"
      tabindex=${tab}
      title=${filePath}
      @click=${context.open}
    >
      ${isFirst && context.repoName ? html`<span class="badge">${context.repoName}</span> ` : nothing}
      ${isFirst ? pathText(filePath) : nothing}<span class="path-lines"
        >${isFirst ? ':' : ''}${lineRange(beginLine, endLine)}</span
      >
    </button>
    ${symbol ? html`<span class="result-symbol" title=${symbol}>${symbolText(symbol)}</span>` : nothing}`;
}

/**
 * @param {ReturnType<typeof snippetOf>} snippet
 * @param {CardContext} context
 * @param {number} tab
 */
function expandButton({ lineCount, begin, end }, { isExpanded, toggleExpanded }, tab) {
  const hidden = lineCount - (end - begin);
  if (hidden === 0 && !isExpanded) return nothing;
  const label = isExpanded ? t('result.less') : t('result.more', { count: hidden });
  const shape = isExpanded ? 'chevron-up' : 'chevron-down';
  return actionButton(shape, label, tab, toggleExpanded, { isOn: isExpanded });
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
function snippetOf({ content, highlightedContent, metadata, language }, isExpanded) {
  const found = marksOf(highlightedContent, content);
  const marks = wholeWords(found, content);
  // By what was found: of "session", session_key and SESSION_ID are not two words.
  const shown = bestLines({ content, marks: found, metadata }, isExpanded ? Infinity : undefined);
  // Colours depend on what stands above, and cost time for what stands below.
  const text = firstLines(content, shown.end);
  const lines = colouredLines(text, language, marksWithin(marks, 0, text.length));
  return { ...shown, lines: lines.slice(shown.begin, shown.end) };
}

/** @param {SearchResult} result */
function freshnessBadge({ freshness }) {
  const name = FRESHNESS[freshness];
  if (!name) return nothing;
  return html`<span class="badge warn" title=${t(`fresh.${name}.hint`)}
    >${t(`fresh.${name}`)}</span
  >`;
}

/** What is exact has no score: it matches, or it would not be here. @param {SearchResult} result */
function scoreMark({ score, why = {} }) {
  if (Object.keys(why).join() === EXACT)
    return html`<span class="badge">${t('result.exact')}</span>`;
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
 * @param {import('../../common/icons.js').IconName} shape
 * @param {string} label
 * @param {number} tab
 * @param {() => void} act
 * @param {{ isOn?: boolean }} [options] of a button that opens something
 */
function actionButton(shape, label, tab, act, { isOn } = {}) {
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
