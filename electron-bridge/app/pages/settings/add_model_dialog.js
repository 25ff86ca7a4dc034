/** The dialog that adds a model folder of one's own. */

import { formActions, openDialog } from '../common/dialog.js';
import { findFolderProblem, folderName, tidyPath } from '../common/folders.js';
import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { hostInfo, kernel } from '../common/kernel.js';
import { html, live, nothing } from '../common/lit.js';
import { toastFailure } from '../common/toast.js';
import { freeName } from './form_model.js';

const TYPES = ['embedding', 'rerank', 'generation'];

/**
 * @param {string[]} taken names that other models have
 * @returns {Promise<{ name: string, path: string, type: string } | undefined>}
 */
export async function askForModel(taken) {
  const { canChooseFolder } = await hostInfo().catch(() => ({ canChooseFolder: false }));
  const entry = { name: '', path: '', type: 'embedding' };
  let isNamed = false;
  /** @type {string | null} */
  let problem = null;
  /** @param {string} path */
  const take = (path) => {
    entry.path = path;
    problem = null;
    if (!isNamed) entry.name = freeName(folderName(path), taken);
  };
  return openDialog({
    title: t('models.add'),
    body: ({ close, draw }) => {
      const choose = async () => {
        try {
          const { folder } = await kernel.host('chooseFolder');
          if (folder) take(folder);
          draw();
        } catch (failure) {
          toastFailure(failure);
        }
      };
      const submit = (/** @type {Event} */ event) => {
        event.preventDefault();
        problem = findFolderProblem(entry.path);
        draw();
        if (problem || !entry.name.trim()) return;
        close({ ...entry, name: entry.name.trim(), path: tidyPath(entry.path) });
      };
      return html`<form novalidate @submit=${submit}>
        <div class="dialog-body">
          <p class="hint">${t('models.add.hint')}</p>
          <div class="field">
            <label for="model-folder">${t('create.folder')}</label>
            <div class="folder-row">
              <input
                id="model-folder"
                class="input"
                autocomplete="off"
                spellcheck="false"
                autofocus
                aria-describedby="model-folder-hint"
                aria-invalid=${problem ? 'true' : 'false'}
                .value=${live(entry.path)}
                @input=${(/** @type {any} */ { target }) => {
                  take(target.value);
                  draw();
                }}
              />
              ${
                canChooseFolder
                  ? html`<button class="button" type="button" @click=${choose}>
                      ${icon('folder')} ${t('act.choose')}
                    </button>`
                  : nothing
              }
            </div>
            <p id="model-folder-hint" class=${problem ? 'field-problem' : 'hint'}>
              ${t(problem ? `create.folder.${problem}` : 'create.folder.hint')}
            </p>
          </div>
          <div class="field">
            <label for="model-name">${t('create.name')}</label>
            <input
              id="model-name"
              class="input"
              autocomplete="off"
              spellcheck="false"
              .value=${live(entry.name)}
              @input=${(/** @type {any} */ { target }) => {
                entry.name = target.value;
                isNamed = target.value !== '';
              }}
            />
          </div>
          <div class="field">
            <label for="model-type">${t('models.type')}</label>
            <select
              id="model-type"
              class="select"
              @change=${(/** @type {any} */ { target }) => {
                entry.type = target.value;
              }}
            >
              ${TYPES.map((type) => html`<option value=${type}>${t(`models.type.${type}`)}</option>`)}
            </select>
          </div>
        </div>
        ${formActions({ submit: t('models.add.submit'), close })}
      </form>`;
    },
  });
}
