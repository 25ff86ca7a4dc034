/** The dialog that adds a chat model: where it is, its key, which one; tried before it is saved. */

import { openDialog } from '../common/dialog.js';
import { explain } from '../common/failures.js';
import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { html, live, nothing } from '../common/lit.js';
import { toastFailure } from '../common/toast.js';
import { dialogField } from './dialog_field.js';
import { NewChatModel, OTHER } from './new_chat_model.js';

/** More are found by typing a part of their name. */
const MAX_SHOWN_MODELS = 50;

/**
 * @param {import('../common/kernel.js').Kernel} kernel
 * @param {string[]} taken names that other models have
 * @returns {Promise<NewChatModel['row'] | undefined>}
 */
export function askForChatModel(kernel, taken) {
  /** @type {{ draw(): void } | undefined} */
  let shown;
  const model = new NewChatModel(kernel, taken, () => shown?.draw());
  model.load().catch(toastFailure);
  return openDialog({
    title: t('chat.add'),
    wide: true,
    body: (handle) => {
      shown = handle;
      const submit = async (/** @type {Event} */ event) => {
        event.preventDefault();
        if (!model.isComplete || model.isNameTaken || model.isTesting) return;
        if (await model.test()) handle.close(model.row);
      };
      return html`<form novalidate @submit=${submit}>
        <div class="dialog-body add-model">
          ${providers(model)} ${model.preset ? details(model) : nothing}
          <div role="status">${model.testFailure ? failureNotice(model.testFailure) : nothing}</div>
        </div>
        ${actions(model, handle)}
      </form>`;
    },
  });
}

/** @param {NewChatModel} model */
function providers(model) {
  const found = new Set(model.servers?.map(({ preset }) => preset));
  return html`<fieldset class="preset-choice">
    <legend class="field-label">${t('chat.provider')}</legend>
    <div class="preset-list">
      ${model.choices.map(({ name, title }) => presetChoice(model, name, title, found.has(name)))}
      ${presetChoice(model, OTHER, t('chat.provider.other'), false)}
    </div>
    <p class="hint" role="status">
      ${
        model.servers === null
          ? html`<span class="spinner" aria-hidden="true"></span> ${t('chat.servers.looking')}`
          : t('chat.servers', { count: model.servers.length })
      }
    </p>
  </fieldset>`;
}

/**
 * @param {NewChatModel} model
 * @param {string} name
 * @param {string} title
 * @param {boolean} isRunning whether it was found on this machine
 */
function presetChoice(model, name, title, isRunning) {
  return html`<label class="preset">
    <input
      type="radio"
      name="preset"
      value=${name}
      .checked=${live(model.preset === name)}
      @change=${() => model.choose(name)}
    />
    <span>${title}</span>
    ${isRunning ? html`<span class="badge good">${t('chat.server.here')}</span>` : nothing}
  </label>`;
}

/** @param {NewChatModel} model */
function details(model) {
  return html`${model.preset === OTHER || model.isLocal ? addressField(model) : nothing}
  ${model.isLocal ? nothing : keyField(model)} ${modelField(model)}
  ${dialogField({
    id: 'new-chat-name',
    label: t('chat.name'),
    value: model.name,
    write: (name) => model.setName(name),
    note: t(model.isNameTaken ? 'problem.unique' : 'chat.name.hint'),
    isWrong: model.isNameTaken,
  })}`;
}

/** @param {NewChatModel} model */
function addressField(model) {
  return dialogField({
    id: 'new-chat-url',
    label: t('chat.url'),
    value: model.url,
    write: (url) => model.setUrl(url),
    leave: () => model.preset === OTHER || model.list(),
    placeholder: 'https://…/v1',
    note: t('chat.url.hint'),
  });
}

/** @param {NewChatModel} model */
function keyField(model) {
  const { keyPage } = model;
  const link = () =>
    html`<a href=${keyPage} target="_blank" rel="noopener noreferrer"
        >${t('chat.key.page', { host: new URL(keyPage).host })} ${icon('external')}</a
      >
      · `;
  return dialogField({
    id: 'new-chat-key',
    label: t('chat.key'),
    value: model.key,
    write: (key) => model.setKey(key),
    leave: () => model.list(),
    isSecret: true,
    note: html`${keyPage ? link() : nothing} ${t('chat.key.hint')}`,
  });
}

/** @param {NewChatModel} model */
function modelField(model) {
  const wanted = model.modelName.trim().toLowerCase();
  const all = model.models ?? [];
  const isChosen = all.some(({ name }) => name === model.modelName.trim());
  const fitting = isChosen ? all : all.filter(({ name }) => name.toLowerCase().includes(wanted));
  const listButton = html`<button
    class="button"
    type="button"
    ?disabled=${!model.canList || model.isListing || all.length > 0}
    @click=${() => model.list()}
  >
    ${model.isListing ? html`<span class="spinner" aria-hidden="true"></span>` : nothing}
    ${t('chat.list')}
  </button>`;
  return html`${dialogField({
    id: 'new-chat-model',
    label: t('chat.model'),
    value: model.modelName,
    write: (name) => model.setModel(name),
    enter: () => model.list(),
    note: model.models ? t('chat.listed', { count: all.length }) : t('chat.model.hint'),
    beside: listButton,
    below: all.length ? modelList(model, fitting) : nothing,
  })}
  ${model.listFailure ? failureNotice(model.listFailure) : nothing}`;
}

/**
 * @param {NewChatModel} model
 * @param {import('./new_chat_model.js').EndpointModel[]} fitting
 */
function modelList(model, fitting) {
  return html`<div class="endpoint-models" role="group" aria-label=${t('chat.models')}>
    ${fitting.slice(0, MAX_SHOWN_MODELS).map(
      ({ name, contextTokens, inputPrice, outputPrice }) =>
        html`<button
          class="endpoint-model"
          type="button"
          aria-pressed=${name === model.modelName ? 'true' : 'false'}
          @click=${() => model.setModel(name)}
        >
          <span class="endpoint-model-name">${name}</span>
          <span class="faint">
            ${contextTokens ? t('chat.listed.context', { count: contextTokens }) : nothing}
            ${
              inputPrice === null || outputPrice === null
                ? nothing
                : t('chat.listed.price', { input: inputPrice, output: outputPrice })
            }
          </span>
        </button>`,
    )}
    ${
      fitting.length > MAX_SHOWN_MODELS
        ? html`<p class="hint">
            ${t('chat.listed.more', { count: fitting.length - MAX_SHOWN_MODELS })}
          </p>`
        : nothing
    }
  </div>`;
}

/**
 * @param {NewChatModel} model
 * @param {import('../common/dialog.js').DialogHandle<NewChatModel['row']>} handle
 */
function actions(model, { close }) {
  const isReady = model.isComplete && !model.isNameTaken && !model.isTesting;
  return html`<div class="dialog-actions">
    <button class="button" type="button" @click=${() => close()}>${t('act.cancel')}</button>
    ${
      model.testFailure
        ? html`<button
            class="button"
            type="button"
            ?disabled=${!isReady}
            @click=${() => close(model.row)}
          >
            ${t('chat.addAnyway')}
          </button>`
        : nothing
    }
    <button class="button primary" type="submit" ?disabled=${!isReady}>
      ${model.isTesting ? html`<span class="spinner" aria-hidden="true"></span>` : nothing}
      ${t(model.isTesting ? 'chat.testing' : 'chat.testAndAdd')}
    </button>
  </div>`;
}

/** @param {unknown} failure */
function failureNotice(failure) {
  const { sentence, advice, detail } = explain(failure);
  return html`<div class="notice failure">
    <div class="notice-body">
      <p class="notice-title">${sentence}</p>
      <p class="notice-detail">${detail || advice}</p>
    </div>
  </div>`;
}
