/** The searches of an answer, round by round; collapsed at first. */

import { t } from '../../common/i18n.js';
import { html, nothing } from '../../common/lit.js';
import { lineRange, pathText } from '../viewer/file_path.js';

/** @typedef {import('../../../../types/protocol.d.ts').ResultContent} ResultContent */

/** The kernel's name of its own first search, of kernel/codekernel/conversation/turn.py. */
export const FIRST_SEARCH = 'Looking for what the question names';

/**
 * @param {import('./turns.js').Turn} turn
 * @param {(excerpt: ResultContent) => void} open
 */
export function rounds({ rounds: made }, open) {
  if (made.length === 0) return nothing;
  return html`<div class="rounds">
    ${made.map(
      ({ annotation, search, result, isOpen }, index) =>
        html`<details class="round">
          <summary>
            ${isOpen ? html`<span class="spinner" aria-hidden="true"></span>` : nothing}
            <span class="round-purpose">${nameOf(annotation, index)}</span>
            <span class="faint">${t('round.found', { count: result.length })}</span>
          </summary>
          <div class="round-inside">
            ${
              search.length > 0
                ? html`<p class="round-queries">
                    <span class="faint">${t('round.queries')}</span>
                    ${search.map((query) => html`<code class="round-query">${query}</code>`)}
                  </p>`
                : nothing
            }
            <ul class="excerpts">
              ${result.map(
                (excerpt) =>
                  html`<li>
                    <button class="excerpt" type="button" @click=${() => open(excerpt)}>
                      ${pathText(excerpt.filePath)}<span class="path-lines"
                        >:${lineRange(excerpt.beginLine, excerpt.endLine)}</span
                      >
                    </button>
                  </li>`,
              )}
            </ul>
          </div>
        </details>`,
    )}
  </div>`;
}

/**
 * @param {string} annotation what the model looks for, in its own words
 * @param {number} index
 */
function nameOf(annotation, index) {
  if (annotation === FIRST_SEARCH) return t('round.first');
  return annotation || t('round.name', { number: index + 1 });
}
