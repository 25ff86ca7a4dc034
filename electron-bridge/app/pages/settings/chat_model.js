/** One chat model: where it answers, its key, what it costs, and whether it works. */

import { explain } from '../common/failures.js';
import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { html, live, nothing } from '../common/lit.js';
import { idOf, numberField, problemAt, textField } from './fields.js';
import { LISTS } from './form_model.js';

/** @typedef {import('./store.js').SettingsStore} SettingsStore */

/**
 * @param {SettingsStore} store
 * @param {any} row
 * @param {number} index
 */
export function chatModel(store, row, index) {
  const path = `${LISTS.chat}[${index}]`;
  const hasProblem = [...store.problems.keys()].some((key) => key.startsWith(`${path}.`));
  const toggled = (/** @type {any} */ { target }) => (row._isOpen = target.open);
  return html`<details
    class="chat-model"
    ?open=${live(Boolean(row._isOpen || hasProblem))}
    @toggle=${toggled}
  >
    <summary>
      <span class="chat-name">${row.name || t('chat.unnamed')}</span>
      <span class="faint chat-endpoint">${row.modelName}</span>
      ${keyBadge(store, row)}
      ${hasProblem ? html`<span class="badge bad">${t('chat.wrong')}</span>` : nothing}
    </summary>
    <div class="chat-body">
      <div class="config-fields">
        ${textField(store, `${path}.name`, {
          label: t('chat.name'),
          hint: t('chat.name.hint'),
          after: (name) => store.askForKey(name),
        })}
        ${textField(store, `${path}.modelName`, {
          label: t('chat.model'),
          hint: t('chat.model.hint'),
          placeholder: 'deepseek-chat',
        })}
      </div>
      ${textField(store, `${path}.url`, {
        label: t('chat.url'),
        hint: t('chat.url.hint'),
        placeholder: 'https://…/v1/chat/completions',
      })}
      ${keyField(store, row, path)}
      <div class="config-fields">
        ${numberField(store, `${path}.inputPrice`, {
          label: t('chat.inputPrice'),
          hint: t('chat.price.hint'),
        })}
        ${numberField(store, `${path}.outputPrice`, {
          label: t('chat.outputPrice'),
          hint: t('chat.price.hint'),
        })}
        ${numberField(store, `${path}.contextTokens`, {
          label: t('chat.context'),
          hint: t('chat.context.hint'),
        })}
      </div>
      <div class="spread">
        <button
          class="button"
          type="button"
          ?disabled=${row._test?.isRunning || !row.url.trim()}
          @click=${() => test(store, row)}
        >
          ${row._test?.isRunning ? html`<span class="spinner" aria-hidden="true"></span>` : nothing}
          ${t(row._test?.isRunning ? 'chat.testing' : 'chat.test')}
        </button>
        <button
          class="button quiet"
          type="button"
          @click=${() => remove(store, row)}
          aria-label=${t('chat.remove', { name: row.name || t('chat.unnamed') })}
        >
          ${icon('trash')} ${t('act.remove')}
        </button>
      </div>
      <div role="status">${testResult(row._test)}</div>
    </div>
  </details>`;
}

/**
 * Write-only: what is stored never comes back into the page.
 *
 * @param {SettingsStore} store
 * @param {any} row
 * @param {string} path
 */
function keyField(store, row, path) {
  const id = idOf(`${path}.key`);
  const problem = problemAt(store, `${path}.setApiKey`);
  const isStored = store.hasKey(row);
  const take = (/** @type {any} */ { target }) => {
    row._newKey = target.value.trim();
    store.problems.delete(`${path}.setApiKey`);
    store.changed();
  };
  const forget = () => {
    row._forgetKey = !row._forgetKey;
    store.changed();
  };
  return html`<div class="field" data-path="${path}.setApiKey">
    <label for=${id}>${t('chat.key')}</label>
    <div class="folder-row">
      <input
        class="input"
        id=${id}
        type="password"
        autocomplete="off"
        spellcheck="false"
        aria-describedby="${id}-note"
        aria-invalid=${problem ? 'true' : 'false'}
        placeholder=${isStored ? t('chat.key.stored.placeholder') : ''}
        .value=${live(row._newKey ?? '')}
        @input=${take}
      />
      ${
        isStored || row._forgetKey
          ? html`<button class="button" type="button" @click=${forget}>
              ${t(row._forgetKey ? 'chat.key.keep' : 'chat.key.forget')}
            </button>`
          : nothing
      }
    </div>
    <p class=${problem ? 'field-problem' : 'hint'} id="${id}-note">
      ${problem ?? t(row._forgetKey ? 'chat.key.forgotten' : 'chat.key.hint')}
    </p>
  </div>`;
}

/**
 * @param {SettingsStore} store
 * @param {any} row
 */
function keyBadge(store, row) {
  if (row._newKey) return html`<span class="badge accent">${t('chat.key.new')}</span>`;
  if (store.hasKey(row)) return html`<span class="badge good">${t('chat.key.stored')}</span>`;
  return html`<span class="badge">${t('chat.key.none')}</span>`;
}

/**
 * @param {SettingsStore} store
 * @param {any} row
 */
async function test(store, row) {
  const trial = { isRunning: true, failure: null, isDone: false };
  row._test = trial;
  store.changed();
  try {
    await store.test(row);
    trial.isDone = true;
  } catch (failure) {
    trial.failure = /** @type {any} */ (failure);
  }
  trial.isRunning = false;
  store.changed();
}

/** @param {{ failure: unknown, isDone: boolean } | undefined} trial */
function testResult(trial) {
  if (trial?.isDone) {
    return html`<div class="notice good"><p class="notice-body">${t('chat.test.good')}</p></div>`;
  }
  if (!trial?.failure) return nothing;
  const { sentence, advice, detail } = explain(trial.failure);
  return html`<div class="notice failure">
    <div class="notice-body">
      <p class="notice-title">${sentence}</p>
      <p class="notice-detail">${detail || advice}</p>
    </div>
  </div>`;
}

/**
 * @param {SettingsStore} store
 * @param {any} row
 */
function remove(store, row) {
  const rows = /** @type {any[]} */ (store.value(LISTS.chat));
  store.setRows(
    LISTS.chat,
    rows.filter((one) => one !== row),
  );
}
