/** The sources of an answer beside it, each with its first lines. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';
import { lineRange, pathText } from '../viewer/file_path.js';
import { sourcesOf } from './sources.js';

/**
 * @param {import('./turns.js').Turn} turn
 * @param {{ close: () => void, open: (source: import('./sources.js').Source) => void }} act
 */
export function sourcesView(turn, { close, open }) {
  const sources = sourcesOf(turn);
  return html`<aside class="sources" aria-label=${t('sources.title')}>
    <div class="spread">
      <h2>${t('sources.title')}</h2>
      <button
        class="button small quiet icon"
        type="button"
        aria-label=${t('act.close')}
        @click=${close}
      >
        ${icon('close')}
      </button>
    </div>
    <p class="faint sources-question">${turn.query}</p>
    <ol class="source-list">
      ${sources.map(
        (source) =>
          html`<li>
            <button class="source" type="button" @click=${() => open(source)}>
              <span class="source-place">
                ${pathText(source.path)}<span class="path-lines"
                  >:${lineRange(source.begin - 1, source.end)}</span
                >
                <span class="badge ${badgeOf(source.state)}">${stateText(source.state)}</span>
              </span>
              ${source.preview ? html`<code class="source-preview">${source.preview}</code>` : nothing}
            </button>
          </li>`,
      )}
    </ol>
  </aside>`;
}

/** @param {import('./sources.js').Source['state']} state */
function badgeOf(state) {
  if (state === 'verified') return 'good';
  return state === 'shown' || state === 'unchecked' ? '' : 'warn';
}

/** @param {import('./sources.js').Source['state']} state */
function stateText(state) {
  return state === 'shown' || state === 'unchecked' ? t('sources.shown') : t(`cite.${state}`);
}
