/** The panel beside the results: what they could be narrowed down to, with counts of all hits. */

import { formatCount } from '../../common/format.js';
import { hasText, t } from '../../common/i18n.js';
import { html, nothing } from '../../common/lit.js';
import { facetGroups, toggleFacet } from './facets.js';
import { filterText } from './query_parts.js';

/** @typedef {import('./facets.js').FacetGroup} FacetGroup */

const SHOWN_VALUES = 6;

/**
 * @param {import('./search_state.js').SearchState} state
 * @param {{ setQuery: (query: string) => void, draw: () => void }} act
 */
export function facetPanel(state, { setQuery, draw }) {
  const groups = facetGroups(state.facets, state.query);
  return groups.map((group) => {
    const isWhole = state.wholeFacets.has(group.kind);
    const shown = isWhole ? group.values : group.values.slice(0, SHOWN_VALUES);
    const rest = group.values.length - shown.length;
    return html`<section class="facet" aria-labelledby="facet-${group.kind}">
      <h2 class="facet-title" id="facet-${group.kind}">${t(`facet.${group.kind}`)}</h2>
      <ul class="facet-values">
        ${shown.map((value) => facetValue(group, value, state.query, setQuery))}
      </ul>
      ${
        rest > 0
          ? html`<button
              class="facet-more"
              type="button"
              @click=${() => {
                state.wholeFacets.add(group.kind);
                draw();
              }}
            >
              ${t('facet.more', { count: rest })}
            </button>`
          : nothing
      }
    </section>`;
  });
}

/**
 * @param {FacetGroup} group
 * @param {FacetGroup['values'][number]} one
 * @param {string} query
 * @param {(query: string) => void} setQuery
 */
function facetValue({ kind }, { value, count, isChosen }, query, setQuery) {
  const filter = filterText({ kind, value, isNot: false });
  const key = `facet.kind.${value}`;
  return html`<li>
    <button
      class=${isChosen ? 'facet-value set' : 'facet-value'}
      type="button"
      aria-pressed=${String(isChosen)}
      title=${t(isChosen ? 'filters.remove' : 'filters.add', { filter })}
      @click=${() => setQuery(toggleFacet(query, kind, value))}
    >
      <span class="facet-name">${kind === 'kind' && hasText(key) ? t(key) : value}</span>
      <span class="facet-count">${formatCount(count)}</span>
    </button>
  </li>`;
}
