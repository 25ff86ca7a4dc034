/** What a device sees that is not paired: how it gets a code, and a field for it. */

import { t } from '../../common/i18n.js';
import { html, nothing } from '../../common/lit.js';
import { loadingState } from '../../common/states.js';

/**
 * @typedef {object} PairState
 * @property {'asking' | 'pairing'} step
 * @property {boolean} isRevoked the hub has forgotten this device
 * @property {string} code
 * @property {string} name
 * @property {string} problem
 */

/**
 * @param {PairState} state
 * @param {{ change: (part: Partial<PairState>) => void, pair: () => void }} act
 */
export function pairView({ step, isRevoked, code, name, problem }, { change, pair }) {
  if (step === 'pairing') return loadingState(t('agents.pair.busy'));
  return html`<div class="pair stack">
    <h1>${t('agents.pair.title')}</h1>
    ${isRevoked ? html`<p class="notice warn" role="alert">${t('agents.pair.revoked')}</p>` : nothing}
    <p>${t('agents.pair.text')}</p>
    <p><code class="kbd">codekernel hub pair</code></p>
    <form
      class="stack"
      @submit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        pair();
      }}
    >
      <div class="field">
        <label for="pair-code">${t('agents.pair.code')}</label>
        <input
          id="pair-code"
          class="input"
          autocomplete="off"
          autocapitalize="characters"
          spellcheck="false"
          required
          aria-invalid=${problem ? 'true' : nothing}
          aria-describedby=${problem ? 'pair-problem' : nothing}
          .value=${code}
          @input=${(/** @type {any} */ { target }) => change({ code: target.value })}
        />
        ${
          problem
            ? html`<p class="field-problem" id="pair-problem" role="alert">${problem}</p>`
            : nothing
        }
      </div>
      <div class="field">
        <label for="pair-name">${t('agents.pair.name')}</label>
        <input
          id="pair-name"
          class="input"
          maxlength="64"
          .value=${name}
          @input=${(/** @type {any} */ { target }) => change({ name: target.value })}
        />
      </div>
      <button class="button primary" type="submit">${t('agents.pair.submit')}</button>
    </form>
  </div>`;
}
