/**
 * Markdown of a model as templates.
 *
 * Made from the lexer's tokens, never from HTML: what a model writes reaches the page as text. Raw
 * HTML and pictures are shown as they are written; of links only https ones can be followed.
 */

import { copyText } from '../../common/copy_text.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { guard, html, nothing } from '../../common/lit.js';
import { colouredLines } from '../code/colours.js';
import { plainLines } from '../code/code_lines.js';
import { grammarCount } from '../code/grammars.js';
import { inline } from './markdown_inline.js';

/** @typedef {import('./answer_blocks.js').Block} Block */
/** @typedef {import('./answer_blocks.js').CodeBlock} CodeBlock */

/**
 * @typedef {object} MarkdownContext
 * @property {ReadonlySet<string>} known files that were shown to the model
 * @property {readonly import('./citations.js').CitationEntry[]} citations
 * @property {(judged: import('./citations.js').CheckedCitation) => void} openPlace
 */

/** Quotes in lists in quotes: deeper ones are shown as they are written. */
const MAX_DEPTH = 8;
/** Code inside a list is coloured again with each piece. */
const MAX_INNER_CODE_CHARS = 3_000;

/**
 * @param {Block} block
 * @param {MarkdownContext} context
 */
export function blockTemplate(block, context) {
  if (block.kind === 'code') return codePage(block);
  if (block.kind === 'text') return html`<p class="markdown-plain">${block.text}</p>`;
  return block.tokens.map((token) => blockToken(token, context, 0));
}

/**
 * @param {any} token
 * @param {MarkdownContext} context
 * @param {number} depth
 * @returns {unknown}
 */
function blockToken(token, context, depth) {
  if (depth > MAX_DEPTH) return html`<p class="markdown-plain">${token.raw}</p>`;
  switch (token.type) {
    case 'space':
    case 'def':
      return nothing;
    case 'heading':
      return heading(token.depth, inline(token.tokens, context));
    case 'paragraph':
      return html`<p>${inline(token.tokens, context)}</p>`;
    case 'text':
      return token.tokens ? inline(token.tokens, context) : token.text;
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ ';
    case 'blockquote':
      return html`<blockquote>${inner(token.tokens, context, depth)}</blockquote>`;
    case 'list':
      return list(token, context, depth);
    case 'table':
      return table(token, context);
    case 'code':
      return wholeCode(token);
    case 'hr':
      return html`<hr />`;
    default:
      return html`<p class="markdown-plain">${token.raw}</p>`;
  }
}

/**
 * @param {any[]} tokens
 * @param {MarkdownContext} context
 * @param {number} depth
 */
function inner(tokens, context, depth) {
  return tokens.map((token) => blockToken(token, context, depth + 1));
}

/**
 * Below the headings of the page itself.
 *
 * @param {number} depth
 * @param {unknown} content
 */
function heading(depth, content) {
  if (depth <= 1) return html`<h3>${content}</h3>`;
  if (depth === 2) return html`<h4>${content}</h4>`;
  return depth === 3 ? html`<h5>${content}</h5>` : html`<h6>${content}</h6>`;
}

/**
 * @param {any} token
 * @param {MarkdownContext} context
 * @param {number} depth
 */
function list(token, context, depth) {
  const items = token.items.map(
    (/** @type {any} */ item) => html`<li>${inner(item.tokens, context, depth)}</li>`,
  );
  if (!token.ordered) return html`<ul>${items}</ul>`; // prettier-ignore
  return html`<ol start=${Number(token.start) || 1}>
    ${items}
  </ol>`;
}

/**
 * @param {any} token
 * @param {MarkdownContext} context
 */
function table(token, context) {
  const cell = (/** @type {any} */ { tokens, align }) =>
    html`<td class=${align ? `align-${align}` : nothing}>${inline(tokens, context)}</td>`;
  return html`<div class="table-scroll" tabindex="0" role="group" aria-label=${t('answer.table')}>
    <table class="table">
      <thead>
        <tr>
          ${token.header.map(
            (/** @type {any} */ { tokens, align }) =>
              html`<th scope="col" class=${align ? `align-${align}` : nothing}>
                ${inline(tokens, context)}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${token.rows.map(
          (/** @type {any[]} */ row) =>
            html`<tr>
              ${row.map(cell)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {CodeBlock} block one page of a block of code */
function codePage({ code, text, isFirst, isLast }) {
  const whole = () => code.pages.join('') + code.last;
  const place = `${isFirst ? ' first' : ''}${isLast ? ' last' : ''}`;
  return html`<div class="code-block${place}">
    ${isFirst ? codeHead(code.language, whole) : nothing} ${coloured(text, code.language)}
  </div>`;
}

/** @param {{ text: string, lang?: string }} token code inside another block */
function wholeCode({ text, lang = '' }) {
  const language = lang.trim().split(/\s/)[0];
  return html`<div class="code-block first last">
    ${codeHead(language, () => text)}
    ${coloured(text, text.length > MAX_INNER_CODE_CHARS ? '' : language)}
  </div>`;
}

/**
 * @param {string} language
 * @param {() => string} whole
 */
function codeHead(language, whole) {
  return html`<div class="code-head">
    <span class="code-language">${language}</span>
    <button class="button small quiet" type="button" @click=${() => copyText(whole())}>
      ${icon('copy')} ${t('act.copy')}
    </button>
  </div>`;
}

/**
 * @param {string} text
 * @param {string} language
 */
function coloured(text, language) {
  return html`<pre class="code" tabindex="0"><code>${guard([text, language, grammarCount()], () =>
    plainLines(colouredLines(text, language)),
  )}</code></pre>`;
}
