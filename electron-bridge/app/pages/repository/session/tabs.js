/** The tabs of the page: the address names one, arrow keys lead through them. */

import { t } from '../../common/i18n.js';
import { html, nothing } from '../../common/lit.js';
import { TABS, tabAfter } from './tab_keys.js';

/** @typedef {import('./tab_keys.js').Tab} Tab */

/**
 * @param {Tab} current
 * @param {number} running how many turns are at work
 * @param {(tab: Tab) => void} choose
 */
export function tabList(current, running, choose) {
  return html`<div
    class="tabs repository-tabs"
    role="tablist"
    aria-label=${t('tabs.label')}
    @keydown=${(/** @type {KeyboardEvent} */ event) => move(event, current, choose)}
  >
    ${TABS.map(
      (tab) =>
        html`<button
          type="button"
          role="tab"
          id="tab-${tab}"
          aria-controls="panel-${tab}"
          aria-selected=${tab === current ? 'true' : 'false'}
          tabindex=${tab === current ? 0 : -1}
          @click=${() => choose(tab)}
        >
          ${t(`tab.${tab}`)}${
            tab === 'talk' && running > 0
              ? html` <span class="badge accent" title=${t('tab.running', { count: running })}
                  >${running}</span
                >`
              : nothing
          }
        </button>`,
    )}
  </div>`;
}

/**
 * @param {KeyboardEvent} event
 * @param {Tab} current
 * @param {(tab: Tab) => void} choose
 */
function move(event, current, choose) {
  const next = tabAfter(current, event.key);
  if (!next || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  choose(next);
  queueMicrotask(() => document.getElementById(`tab-${next}`)?.focus());
}
