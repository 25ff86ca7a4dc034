/** The local models: the built-in ones and the user's own folders. */

import { confirmDialog } from '../common/dialog.js';
import { formatBytes } from '../common/format.js';
import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { html, nothing, repeat } from '../common/lit.js';
import { askForModel } from './add_model_dialog.js';
import { problemAt } from './fields.js';
import { LISTS, withId } from './form_model.js';
import { knownModel } from './model_names.js';
import { section } from './section.js';

/** @typedef {import('./store.js').SettingsStore} SettingsStore */

const BYTES_PER_MB = 1_000_000;

/** @param {SettingsStore} store */
export function modelsSection(store) {
  const box = store.models.filter(({ builtIn }) => builtIn);
  const own = /** @type {any[]} */ (store.value(LISTS.models));
  return section(
    'models',
    html`<ul class="model-list">
        ${box.map((model) => modelRow({ model, badge: t('models.builtIn') }))}
        ${repeat(
          own,
          (row) => row._id,
          (row, index) => ownRow(store, row, index),
        )}
      </ul>
      <div>
        <button class="button small" type="button" @click=${() => addModel(store)}>
          ${icon('plus')} ${t('models.add')}
        </button>
      </div>`,
  );
}

/**
 * @param {SettingsStore} store
 * @param {any} row
 * @param {number} index
 */
function ownRow(store, row, index) {
  const known = knownModel(store, row);
  const path = `${LISTS.models}[${index}]`;
  const problems = ['name', 'path', 'type', 'fileSize', 'endpoint.url', 'endpoint.modelName']
    .map((field) => problemAt(store, `${path}.${field}`))
    .filter(Boolean);
  return modelRow({
    model: known ?? { ...row, fileSize: row.fileSize ?? null, trouble: '' },
    badge: t(known ? 'models.own' : 'models.new'),
    problems,
    remove: () => removeModel(store, row),
  });
}

/**
 * @param {{ model: any, badge: string, problems?: any[], remove?: () => void }} what
 */
function modelRow({ model, badge, problems = [], remove }) {
  const { name, type, path, fileSize, dimension, description, trouble } = model;
  return html`<li class="model-row">
    <div class="model-text">
      <p class="row">
        <strong class="model-name">${name}</strong>
        <span class="badge accent">${t(`models.type.${type}`)}</span>
        <span class="badge">${badge}</span>
        ${trouble ? html`<span class="badge bad">${t('models.trouble')}</span>` : nothing}
      </p>
      ${description ? html`<p class="muted">${description}</p>` : nothing}
      <p class="faint model-path" title=${path}>${path}</p>
      ${trouble ? html`<p class="field-problem">${trouble}</p>` : nothing}
      ${problems.map((problem) => html`<p class="field-problem">${problem}</p>`)}
    </div>
    <div class="model-facts faint">
      ${fileSize ? html`<span>${formatBytes(fileSize * BYTES_PER_MB)}</span>` : nothing}
      ${dimension ? html`<span>${t('models.dimension', { dimension })}</span>` : nothing}
    </div>
    ${
      remove
        ? html`<button
            class="button small quiet icon"
            type="button"
            aria-label=${t('models.remove', { name })}
            title=${t('models.remove', { name })}
            @click=${remove}
          >
            ${icon('trash')}
          </button>`
        : nothing
    }
  </li>`;
}

/** @param {SettingsStore} store */
async function addModel(store) {
  const own = /** @type {any[]} */ (store.value(LISTS.models));
  const taken = [...store.models, ...own].map(({ name }) => name);
  const entry = await askForModel(taken);
  if (entry) store.setRows(LISTS.models, [...store.value(LISTS.models), withId(entry)]);
}

/**
 * @param {SettingsStore} store
 * @param {any} row
 */
async function removeModel(store, row) {
  const isMeant = await confirmDialog({
    title: t('models.remove', { name: row.name }),
    text: t('models.remove.text'),
    confirm: t('act.remove'),
    danger: true,
  });
  if (!isMeant) return;
  const rows = /** @type {any[]} */ (store.value(LISTS.models));
  store.setRows(
    LISTS.models,
    rows.filter((one) => one !== row),
  );
}
