/** What a page shows instead of content: loading, nothing there yet, failed. */

import { explain } from './failures.js';
import { t } from './i18n.js';
import { html, nothing } from './lit.js';

/** @param {string} [label] what is being waited for */
export function loadingState(label = t('state.loading')) {
  return html`<div class="state" role="status">
    <span class="spinner" aria-hidden="true"></span>
    <p class="state-text">${label}</p>
  </div>`;
}

/**
 * @param {{ title: string, text?: unknown, action?: unknown }} what `text` and `action` may be templates
 */
export function emptyState({ title, text = nothing, action = nothing }) {
  return html`<div class="state">
    <h2 class="state-title">${title}</h2>
    <p class="state-text">${text}</p>
    ${action}
  </div>`;
}

/**
 * A block that says what failed and what to do.
 *
 * @param {unknown} failure
 * @param {{ retry?: () => void, dismiss?: () => void }} [actions]
 */
export function failureState(failure, { retry, dismiss } = {}) {
  const { code, sentence, advice, detail } = explain(failure);
  return html`<div class="notice failure" role="alert" data-code=${code}>
    <div class="notice-body">
      <p class="notice-title">${sentence}</p>
      ${advice ? html`<p>${advice}</p>` : nothing}
      ${detail ? html`<p class="notice-detail">${detail}</p>` : nothing}
    </div>
    ${
      retry
        ? html`<button class="button small" type="button" @click=${retry}>
            ${t('act.retry')}
          </button>`
        : nothing
    }
    ${
      dismiss
        ? html`<button
            class="button small quiet icon"
            type="button"
            aria-label=${t('act.dismiss')}
            @click=${dismiss}
          >
            ✕
          </button>`
        : nothing
    }
  </div>`;
}
