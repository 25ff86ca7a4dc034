/** Where a question is written: Enter sends, Shift+Enter begins a line. */

import { goesTo, pageAddress } from '../../common/go.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, live } from '../../common/lit.js';
import { toastFailure } from '../../common/toast.js';

/**
 * @typedef {object} ComposerState
 * @property {string} draft
 * @property {readonly string[] | null} models null: not known yet
 * @property {string} modelName
 * @property {'ready' | 'answering' | 'stopping'} state
 * @property {boolean} isSessionReady
 */

/**
 * @param {ComposerState} state
 * @param {{
 *   write: (draft: string) => void,
 *   choose: (modelName: string) => void,
 *   send: () => void,
 *   stop: () => void,
 * }} act
 */
export function composer(state, act) {
  const { draft, models, isSessionReady } = state;
  if (models?.length === 0) return noModels();
  const canSend = isSessionReady && draft.trim() !== '' && Boolean(state.modelName);
  return html`<form
    class="composer card"
    @submit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      if (canSend && state.state === 'ready') act.send();
    }}
  >
    <label class="visually-hidden" for="question">${t('ask.label')}</label>
    <textarea
      id="question"
      class="composer-input"
      rows="2"
      maxlength="100000"
      placeholder=${t('ask.placeholder')}
      .value=${live(draft)}
      @input=${(/** @type {any} */ { target }) => act.write(target.value)}
      @keydown=${(/** @type {KeyboardEvent} */ event) => {
        if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        if (canSend && state.state === 'ready') act.send();
      }}
    ></textarea>
    <div class="composer-tools">
      ${modelChoice(state, act.choose)}
      <span class="faint composer-hint">${t('ask.hint')}</span>
      ${
        state.state === 'ready'
          ? html`<button class="button primary" type="submit" ?disabled=${!canSend}>
              ${t('ask.send')}
            </button>`
          : stopButton(state.state, act.stop)
      }
    </div>
  </form>`;
}

/**
 * @param {ComposerState} state
 * @param {(modelName: string) => void} choose
 */
function modelChoice({ models, modelName }, choose) {
  return html`<label class="composer-model">
    <span class="visually-hidden">${t('ask.model')}</span>
    <select
      class="select"
      title=${t('ask.model')}
      ?disabled=${!models}
      .value=${live(modelName)}
      @change=${(/** @type {any} */ { target }) => choose(target.value)}
    >
      ${(models ?? []).map(
        (name) => html`<option value=${name} ?selected=${name === modelName}>${name}</option>`,
      )}
    </select>
  </label>`;
}

/**
 * @param {'answering' | 'stopping'} state
 * @param {() => void} stop
 */
function stopButton(state, stop) {
  const isStopping = state === 'stopping';
  return html`<button class="button" type="button" ?disabled=${isStopping} @click=${stop}>
    ${isStopping ? html`<span class="spinner" aria-hidden="true"></span>` : icon('stop')}
    ${isStopping ? t('ask.stopping') : t('ask.stop')}
  </button>`;
}

function noModels() {
  return html`<div class="notice composer-none">
    <div class="notice-body">
      <p class="notice-title">${t('ask.none')}</p>
      <p>${t('ask.none.advice')}</p>
    </div>
    <a
      class="button primary"
      href=${pageAddress('settings')}
      @click=${goesTo('settings', { failed: toastFailure })}
      >${t('ask.none.settings')}</a
    >
  </div>`;
}
