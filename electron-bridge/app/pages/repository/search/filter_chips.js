/** What narrows the search: the filters of the query, and those that the results offer. */

import { formatCount } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html } from '../../common/lit.js';
import { filterText, withFilter, removeParts } from './query_parts.js';

/** @typedef {import('./query_parts.js').Part} Part */
/** @typedef {import('./facets.js').Facet} Facet */

/**
 * @param {import('./search_state.js').SearchState} state
 * @param {readonly Part[]} parts
 * @param {readonly Facet[]} facets
 * @param {{ setQuery: (query: string) => void, showKeys: () => void }} act
 */
export function chips({ query }, parts, facets, { setQuery, showKeys }) {
  return html`<div class="chips" role="group" aria-label=${t('filters.label')}>
    ${parts.map((part) => partChip(part, () => setQuery(removeParts(query, part))))}
    ${facets.map((facet) => facetChip(facet, () => setQuery(withFilter(query, facet))))}
    <button class="button small quiet chip-help" type="button" @click=${showKeys}>
      ${icon('info')} ${t('filters.help')}
    </button>
  </div>`;
}

/**
 * @param {Part} part
 * @param {() => void} remove
 */
function partChip(part, remove) {
  const kind = t(`filters.${part.kind}`);
  const value = part.isNot ? t('filters.not', { value: part.value }) : part.value;
  const label = t('filters.remove', { filter: `${kind} ${value}` });
  return html`<button
    class="chip set"
    type="button"
    aria-label=${label}
    title=${label}
    @click=${remove}
  >
    <span class="chip-kind">${kind}</span>
    <span class="chip-value">${value}</span>
    ${icon('close')}
  </button>`;
}

/**
 * @param {Facet} facet
 * @param {() => void} add
 */
function facetChip(facet, add) {
  const label = t('filters.add', { filter: filterText({ ...facet, isNot: false }) });
  return html`<button class="chip" type="button" title=${label} @click=${add}>
    <span class="chip-value">${facet.value}</span>
    <span class="chip-count">${formatCount(facet.count)}</span>
  </button>`;
}
