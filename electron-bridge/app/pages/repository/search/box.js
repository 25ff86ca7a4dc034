/** The search box: searches as one types, and takes a pasted stack trace whole. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, live, nothing } from '../../common/lit.js';
import { savedQueries, toggleSaved } from './recent_queries.js';

/** @typedef {import('./search_state.js').SearchState} SearchState */

/**
 * @param {SearchState} state
 * @param {{ toResults: () => void }} go
 */
export function searchBox(state, { toResults }) {
  return html`<form
    class="search-box"
    role="search"
    aria-busy=${String(state.isUnderWay)}
    @submit=${(/** @type {Event} */ event) => event.preventDefault()}
  >
    <label class="visually-hidden" for="query">${t('search.label')}</label>
    <span class="search-icon" aria-hidden="true">
      ${icon('search')} ${state.isUnderWay ? html`<span class="spinner"></span>` : nothing}
    </span>
    <textarea
      id="query"
      class="search-input"
      rows="1"
      autocomplete="off"
      autocapitalize="off"
      spellcheck="false"
      maxlength="20000"
      enterkeyhint="search"
      placeholder=${t('search.placeholder')}
      .value=${live(state.query)}
      @input=${(/** @type {any} */ { target }) => state.search(target.value)}
      @keydown=${(/** @type {KeyboardEvent} */ event) => boxKey(event, state, toResults)}
    ></textarea>
    ${state.query.trim() ? saveButton(state) : nothing}
    ${
      state.query
        ? html`<button
            class="button small quiet icon"
            type="button"
            aria-label=${t('search.clear')}
            title=${t('search.clear')}
            @click=${() => clear(state)}
          >
            ${icon('close')}
          </button>`
        : html`<kbd class="kbd search-slash" aria-hidden="true">/</kbd>`
    }
    <label class="check search-accuracy" title=${t('search.accuracy.hint')}>
      <input
        type="checkbox"
        .checked=${live(state.accuracy)}
        @change=${(/** @type {any} */ { target }) => state.setAccuracy(target.checked)}
      />
      <span>${t('search.accuracy')}</span>
    </label>
  </form>`;
}

/**
 * @param {KeyboardEvent} event
 * @param {SearchState} state
 * @param {() => void} toResults
 */
function boxKey(event, state, toResults) {
  if (event.isComposing) return;
  const box = /** @type {HTMLTextAreaElement} */ (event.target);
  const isAtEnd = !box.value.slice(box.selectionEnd).includes('\n');
  if (event.key === 'Enter' && !event.shiftKey) {
    if (!state.isUnderWay) toResults();
  } else if (event.key === 'ArrowDown' && isAtEnd && !event.shiftKey && state.results.length > 0) {
    toResults();
  } else if (event.key === 'Escape' && state.query) {
    state.search('');
  } else {
    return;
  }
  event.preventDefault();
}

/** @param {SearchState} state */
function saveButton(state) {
  const isSaved = savedQueries(state.repoName).includes(state.query.trim());
  const label = t(isSaved ? 'search.unsave' : 'search.save');
  return html`<button
    class=${isSaved ? 'button small quiet icon starred' : 'button small quiet icon'}
    type="button"
    aria-label=${t('search.save')}
    aria-pressed=${String(isSaved)}
    title=${label}
    @click=${() => {
      toggleSaved(state.repoName, state.query);
      state.callbacks.changed();
    }}
  >
    ${icon('star')}
  </button>`;
}

/** @param {SearchState} state */
function clear(state) {
  state.search('');
  document.getElementById('query')?.focus();
}
