/** Says that the hub cannot be reached, until it can. */

import { t } from '../../common/i18n.js';
import { html, nothing } from '../../common/lit.js';

/**
 * @param {{ state: import('../hub/event_stream.js').StreamState, wasConnected: boolean }} stream
 * @param {() => void} retry
 */
export function connectionBanner({ state, wasConnected }, retry) {
  if (state === 'connected' || (state === 'connecting' && !wasConnected)) return nothing;
  const key = navigator.onLine ? 'agents.connection.hub' : 'agents.connection.offline';
  return html`<div class="connection" role="status">
    <span>${t(state === 'connecting' ? 'agents.connection.again' : key)}</span>
    ${
      state === 'waiting'
        ? html`<button class="button small" type="button" @click=${retry}>
            ${t('agents.connection.now')}
          </button>`
        : html`<span class="spinner" aria-hidden="true"></span>`
    }
  </div>`;
}
