/** What remote models would be sent of the repository: size and price first, then a yes or a no. */

import { formatBytes, formatCount } from '../../common/format.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { kernel } from '../../common/kernel.js';
import { html } from '../../common/lit.js';
import { toastFailure } from '../../common/toast.js';

/** @typedef {import('../../../../types/protocol.d.ts').EndpointAskEntry} EndpointAskEntry */

/**
 * @param {EndpointAskEntry[]} asks
 * @param {() => unknown} refresh
 */
export function askCards(asks, refresh) {
  return asks.map((ask) => askCard(ask, refresh));
}

/**
 * @param {EndpointAskEntry} ask
 * @param {() => unknown} refresh
 */
function askCard(ask, refresh) {
  const { model, endpoint, chunks, sizeBytes, tokens, cost, eachSearch } = ask;
  const answer = async (/** @type {boolean} */ allowed) => {
    try {
      await kernel.allowEndpoint({ model, allowed });
    } catch (failure) {
      toastFailure(failure);
    }
    refresh();
  };
  return html`<section class="card notice warn index-ask" role="group" aria-label=${model}>
    ${icon('warning')}
    <div class="notice-body stack">
      <p>${t(eachSearch ? 'ask.text.search' : 'ask.text', { model, endpoint })}</p>
      <p>
        ${t('ask.size', {
          chunks: formatCount(chunks),
          size: formatBytes(sizeBytes),
          tokens: formatCount(tokens),
        })}
        ${cost === null ? t('ask.free') : t('ask.cost', { cost: cost.toPrecision(2) })}
      </p>
      <p class="faint">${t('ask.masked')}</p>
      <p class="row">
        <button class="button" type="button" @click=${() => answer(true)}>${t('ask.allow')}</button>
        <button class="button quiet" type="button" @click=${() => answer(false)}>
          ${t('ask.deny')}
        </button>
      </p>
    </div>
  </section>`;
}
