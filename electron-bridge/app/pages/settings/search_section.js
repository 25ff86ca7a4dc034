/** How results are found: how many, by which embedding models, reranked by which. */

import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { html, nothing, repeat } from '../common/lit.js';
import { checkField, idOf, numberField, problemAt, selectField, textField } from './fields.js';
import { LISTS, newEmbeddingConfig, selectReranker } from './form_model.js';
import { modelChoices, modelNames } from './model_names.js';
import { section } from './section.js';

/** @typedef {import('./store.js').SettingsStore} SettingsStore */

/** @param {SettingsStore} store */
export function searchSection(store) {
  return section(
    'search',
    html`${numberField(store, 'searchSettings.searchLimit', {
      label: t('search.limit'),
      hint: t('search.limit.hint'),
    })}
    ${embeddingConfigs(store)} ${rerankField(store)}`,
  );
}

/** @param {SettingsStore} store */
function embeddingConfigs(store) {
  const rows = /** @type {any[]} */ (store.value(LISTS.embedding));
  return html`<div class="settings-group" role="group" aria-labelledby="embedding-title">
    <p class="field-label" id="embedding-title">${t('embedding.title')}</p>
    <p class="hint">${t(rows.length ? 'embedding.hint' : 'embedding.none')}</p>
    ${repeat(
      rows,
      (row) => row._id,
      (_row, index) => embeddingRow(store, index),
    )}
    <div>
      <button class="button small" type="button" @click=${() => addConfig(store)}>
        ${icon('plus')} ${t('embedding.add')}
      </button>
    </div>
  </div>`;
}

/**
 * @param {SettingsStore} store
 * @param {number} index
 */
function embeddingRow(store, index) {
  const path = `${LISTS.embedding}[${index}]`;
  const { name, modelName } = store.value(path);
  return html`<div class="config-row" role="group" aria-label=${name || t('embedding.unnamed')}>
    <div class="config-fields embedding-fields">
      ${textField(store, `${path}.name`, { label: t('embedding.name') })}
      ${selectField(store, `${path}.modelName`, {
        label: t('embedding.model'),
        choices: modelChoices(store, 'embedding', modelName),
      })}
      ${numberField(store, `${path}.inputLength`, { label: t('embedding.length') })}
    </div>
    <div class="config-side">
      ${checkField(store, `${path}.selected`, { label: t('embedding.selected') })}
      <button
        class="button small quiet icon"
        type="button"
        aria-label=${t('embedding.remove', { name })}
        title=${t('embedding.remove', { name })}
        @click=${() => removeConfig(store, index)}
      >
        ${icon('trash')}
      </button>
    </div>
  </div>`;
}

/** @param {SettingsStore} store */
function addConfig(store) {
  const rows = /** @type {any[]} */ (store.value(LISTS.embedding));
  const used = new Set(rows.map(({ modelName }) => modelName));
  const names = modelNames(store, 'embedding');
  const modelName = names.find((name) => !used.has(name)) ?? names[0] ?? '';
  const row = newEmbeddingConfig(
    modelName,
    rows.map(({ name }) => name),
  );
  store.setRows(LISTS.embedding, [...rows, row]);
}

/**
 * @param {SettingsStore} store
 * @param {number} gone
 */
function removeConfig(store, gone) {
  const rows = /** @type {any[]} */ (store.value(LISTS.embedding));
  store.setRows(
    LISTS.embedding,
    rows.filter((_row, index) => index !== gone),
  );
}

/** @param {SettingsStore} store */
function rerankField(store) {
  const configs = /** @type {any[]} */ (store.value(LISTS.rerank));
  const chosen = configs.find(({ selected }) => selected)?.modelName ?? '';
  const problems = configs.map((_config, index) =>
    problemAt(store, `${LISTS.rerank}[${index}].modelName`),
  );
  const problem = problemAt(store, LISTS.rerank) ?? problems.find(Boolean);
  const names = [
    ...new Set([
      ...modelNames(store, 'rerank'),
      ...modelNames(store, 'embedding'),
      ...configs.map(({ modelName }) => modelName),
    ]),
  ];
  const id = idOf(LISTS.rerank);
  return html`<div class="field" data-path=${LISTS.rerank}>
    <label for=${id}>${t('rerank.title')}</label>
    <select
      class="select narrow"
      id=${id}
      aria-describedby="${id}-note"
      aria-invalid=${problem ? 'true' : 'false'}
      @change=${(/** @type {any} */ { target }) =>
        store.setRows(LISTS.rerank, selectReranker(configs, target.value))}
    >
      <option value="" .selected=${chosen === ''}>${t('rerank.none')}</option>
      ${names.map(
        (name) => html`<option value=${name} .selected=${name === chosen}>${name}</option>`,
      )}
    </select>
    ${problem ? html`<p class="field-problem">${problem}</p>` : nothing}
    <p class="hint" id="${id}-note">${t(names.length ? 'rerank.hint' : 'rerank.hint.none')}</p>
  </div>`;
}
