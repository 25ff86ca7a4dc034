/** The filters of the query, each with a button that removes it. */

import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html } from '../../common/lit.js';
import { removeParts } from './query_parts.js';

/** @typedef {import('./query_parts.js').Part} Part */

/**
 * @param {string} query
 * @param {readonly Part[]} parts
 * @param {(query: string) => void} setQuery
 */
export function filterChips(query, parts, setQuery) {
  return parts.map((part) => {
    const kind = t(`filters.${part.kind}`);
    const value = part.isNot ? t('filters.not', { value: part.value }) : part.value;
    const label = t('filters.remove', { filter: `${kind} ${value}` });
    return html`<button
      class="chip set"
      type="button"
      aria-label=${label}
      title=${label}
      @click=${() => setQuery(removeParts(query, part))}
    >
      <span class="chip-kind">${kind}</span>
      <span class="chip-value">${value}</span>
      ${icon('close')}
    </button>`;
  });
}
