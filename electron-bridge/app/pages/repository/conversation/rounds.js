/** The searches of an answer, round by round; collapsed at first. */

import { t } from '../../common/i18n.js';
import { html, nothing } from '../../common/lit.js';
import { lineRange, pathText } from '../viewer/file_path.js';
import { roundName } from './round_name.js';

/** @typedef {import('../../../../types/protocol.d.ts').ResultContent} ResultContent */

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
            <span class="round-purpose">${roundName(annotation, index)}</span>
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
