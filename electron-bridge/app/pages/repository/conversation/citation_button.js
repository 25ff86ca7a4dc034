/** A citation of an answer as a button; a sign and a text show whether it was verified. */

import { hasText, t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, nothing } from '../../common/lit.js';
import { checkCitation } from './citations.js';

/** @typedef {import('./citations.js').CheckedCitation} Judged */

const SIGNS = Object.freeze(
  /** @type {const} */ ({
    verified: 'check',
    moved: 'chevron-right',
    stale: 'warning',
    missing: 'close',
  }),
);

/**
 * @param {import('./citations.js').Place} place
 * @param {import('./markdown.js').MarkdownContext} context
 */
export function citation(place, { citations, openPlace }) {
  const found = checkCitation(place, citations);
  const { state } = found;
  const label = state === 'unchecked' ? t('cite.open') : wordsFor(found);
  return html`<button
    class="citation ${state}"
    type="button"
    title=${label}
    aria-label="${place.text}: ${label}"
    @click=${() => openPlace(found)}
  >
    <span class="citation-place">${place.text}</span>${
      state === 'unchecked'
        ? nothing
        : html`<span class="citation-state">${icon(SIGNS[state])}${t(`cite.${state}`)}</span>`
    }
  </button>`;
}

/** @param {Judged} found */
function wordsFor({ state, reason, begin, end }) {
  if (state === 'moved')
    return t('cite.moved.hint', { lines: begin === end ? `${begin}` : `${begin}–${end}` });
  const key = `cite.reason.${reason.replaceAll(' ', '-')}`;
  const why = hasText(key) ? t(key) : reason;
  const label = t(`cite.${state}.hint`);
  return why ? `${label} (${why})` : label;
}
