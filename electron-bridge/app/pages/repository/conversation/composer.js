/** Where a question or a task is written: Enter sends, Shift+Enter begins a line. */

import { opensPage, pageAddress } from '../../common/navigation.js';
import { composerForm } from '../../common/composer_form.js';
import { t } from '../../common/i18n.js';
import { icon } from '../../common/icons.js';
import { html, live, nothing } from '../../common/lit.js';
import { toastFailure } from '../../common/toast.js';

/**
 * @typedef {object} ComposerState
 * @property {string} draft
 * @property {readonly string[] | null} models null: not known yet
 * @property {string} modelName
 * @property {boolean} isAgent what is written is a task for an agent
 * @property {'ready' | 'answering' | 'stopping'} state
 * @property {boolean} reviews each edit of the agent waits as a diff
 * @property {number} ruleCount what agents may do here without being asked
 * @property {string} memory what the model is given of the conversation, or ''
 * @property {boolean} isEditing what is written takes the place of an earlier question
 * @property {import('./mention_picker.js').MentionPicker} picker
 * @property {boolean} isSessionReady
 * @property {boolean} isSendRequested it is sent as soon as session and models are known
 */

/**
 * @param {ComposerState} state
 * @param {{
 *   write: (draft: string) => void,
 *   choose: (modelName: string) => void,
 *   setAgent: (isAgent: boolean) => void,
 *   setReviews: (reviews: boolean) => void,
 *   showRules: () => void,
 *   send: () => void,
 *   endEdit: () => void,
 *   stop: () => void,
 * }} act
 */
export function composer(state, act) {
  const { draft, models, isSessionReady, isAgent } = state;
  if (models?.length === 0) return noModels();
  const canSend = isSessionReady && draft.trim() !== '' && Boolean(state.modelName);
  const field = {
    id: 'question',
    label: t(isAgent ? 'ask.label.agent' : 'ask.label'),
    placeholder: t(isAgent ? 'ask.placeholder.agent' : 'ask.placeholder'),
    rows: 2,
    draft,
  };
  const { picker } = state;
  const onKey = (/** @type {KeyboardEvent} */ event) => picker.onKey(event, draft);
  const onInput = (/** @type {any} */ { target }) => {
    if (target.id === field.id) picker.update(target.value, target.selectionStart);
  };
  const form = composerForm(
    field,
    act,
    html`${picker.view(draft)}${state.isEditing ? editingNote(act.endEdit) : nothing}
      <div class="composer-tools">
        ${kindChoice(isAgent, act.setAgent)} ${modelChoice(state, act.choose)}
        ${isAgent ? agentOptions(state, act) : nothing}
        <span class="faint composer-hint" title=${t('ask.memory.hint')}
          >${state.memory || t('ask.hint')}</span
        >
        ${
          state.state === 'ready'
            ? html`<button class="button primary" type="submit" ?disabled=${!canSend}>
                ${state.isSendRequested ? html`<span class="spinner" aria-hidden="true"></span>` : ''}
                ${t(isAgent ? 'ask.send.agent' : 'ask.send')}
              </button>`
            : stopButton(state.state, act.stop)
        }
      </div>`,
  );
  return html`<div
    class="composer-place"
    @keydown=${{ handleEvent: onKey, capture: true }}
    @input=${onInput}
    @focusout=${() => picker.close()}
  >
    ${form}
  </div>`;
}

/** @param {() => void} endEdit */
function editingNote(endEdit) {
  return html`<p class="composer-editing" role="status">
    <span>${t('ask.editing')}</span>
    <button class="button small quiet" type="button" @click=${endEdit}>${t('act.cancel')}</button>
  </p>`;
}

/**
 * @param {boolean} isAgent
 * @param {(isAgent: boolean) => void} setAgent
 */
function kindChoice(isAgent, setAgent) {
  return html`<fieldset class="composer-kind">
    <legend class="visually-hidden">${t('ask.kind')}</legend>
    ${[false, true].map(
      (agent) =>
        html`<label title=${t(agent ? 'ask.kind.agent.hint' : 'ask.kind.ask.hint')}>
          <input
            type="radio"
            name="kind"
            .checked=${live(agent === isAgent)}
            @change=${() => setAgent(agent)}
          />
          <span>${t(agent ? 'ask.kind.agent' : 'ask.kind.ask')}</span>
        </label>`,
    )}
  </fieldset>`;
}

/**
 * @param {ComposerState} state
 * @param {{ setReviews: (reviews: boolean) => void, showRules: () => void }} act
 */
function agentOptions({ reviews, ruleCount }, { setReviews, showRules }) {
  return html`<label class="composer-check" title=${t('ask.reviews.hint')}>
      <input
        type="checkbox"
        .checked=${live(reviews)}
        @change=${(/** @type {any} */ { target }) => setReviews(target.checked)}
      />
      <span>${t('ask.reviews')}</span>
    </label>
    ${
      ruleCount > 0
        ? html`<button class="button small quiet" type="button" @click=${showRules}>
            ${t('rules.count', { count: ruleCount })}
          </button>`
        : nothing
    }`;
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
      href=${pageAddress('settings', { part: 'add-model' })}
      @click=${opensPage('settings', { part: 'add-model', failed: toastFailure })}
      >${t('ask.none.settings')}</a
    >
  </div>`;
}
