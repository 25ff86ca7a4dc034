/** The dialog that adds a model of one's own: a folder, or a server. */

import { formActions, openDialog } from '../common/dialog.js';
import { findFolderProblem, folderName, tidyPath } from '../common/folders.js';
import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { hostInfo, kernel } from '../common/kernel.js';
import { html, nothing } from '../common/lit.js';
import { toastFailure } from '../common/toast.js';
import { dialogField } from './dialog_field.js';
import { freeName } from './form_model.js';

const TYPES = ['embedding', 'rerank', 'generation'];
const REMOTE_TYPES = ['embedding', 'rerank'];

/**
 * @typedef {object} ModelEntry
 * @property {string} name
 * @property {string} path
 * @property {string} type
 * @property {{ url: string, modelName: string, inputPrice?: number }} [endpoint]
 */

/**
 * @param {string[]} taken names that other models have
 * @returns {Promise<ModelEntry | undefined>}
 */
export async function askForModel(taken) {
  const { canChooseFolder } = await hostInfo().catch(() => ({ canChooseFolder: false }));
  const entry = { name: '', path: '', type: 'embedding' };
  const server = { url: '', modelName: '', inputPrice: '' };
  let isRemote = false;
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
        if (isRemote) {
          const { url, modelName, inputPrice } = server;
          const price = inputPrice.trim() === '' ? {} : { inputPrice: Number(inputPrice) };
          const isWhole = /^https?:\/\/\S+$/.test(url.trim()) && modelName.trim() !== '';
          problem = isWhole && !Number.isNaN(price.inputPrice ?? 0) ? null : 'server';
          draw();
          if (problem) return;
          const name = entry.name.trim() || freeName(modelName.trim(), taken);
          const endpoint = { url: url.trim(), modelName: modelName.trim(), ...price };
          close({ name, path: '', type: entry.type, endpoint });
          return;
        }
        problem = findFolderProblem(entry.path);
        draw();
        if (problem || !entry.name.trim()) return;
        close({ ...entry, name: entry.name.trim(), path: tidyPath(entry.path) });
      };
      const folderFields = () => html`
        <p class="hint">${t('models.add.hint')}</p>
        ${dialogField({
          id: 'model-folder',
          label: t('create.folder'),
          value: entry.path,
          write: (path) => {
            take(path);
            draw();
          },
          isFirst: true,
          isWrong: problem !== null,
          note: t(problem ? `create.folder.${problem}` : 'create.folder.hint'),
          beside: canChooseFolder ? chooseButton(choose) : nothing,
        })}
      `;
      return html`<form novalidate @submit=${submit}>
        <div class="dialog-body">
          <div class="field">
            <label for="model-place">${t('models.place')}</label>
            <select
              id="model-place"
              class="select"
              @change=${(/** @type {any} */ { target }) => {
                isRemote = target.value === 'server';
                problem = null;
                if (isRemote && entry.type === 'generation') entry.type = 'embedding';
                draw();
              }}
            >
              <option value="folder">${t('models.place.folder')}</option>
              <option value="server">${t('models.place.server')}</option>
            </select>
          </div>
          ${isRemote ? serverFields(server, problem) : folderFields()}
          ${dialogField({
            id: 'model-name',
            label: t('create.name'),
            value: entry.name,
            write: (name) => {
              entry.name = name;
              isNamed = name !== '';
            },
          })}
          <div class="field">
            <label for="model-type">${t('models.type')}</label>
            <select
              id="model-type"
              class="select"
              @change=${(/** @type {any} */ { target }) => {
                entry.type = target.value;
              }}
            >
              ${(isRemote ? REMOTE_TYPES : TYPES).map((type) => html`<option value=${type}>${t(`models.type.${type}`)}</option>`)}
            </select>
          </div>
        </div>
        ${formActions({ submit: t('models.add.submit'), close })}
      </form>`;
    },
  });
}

/** @param {() => void} choose */
function chooseButton(choose) {
  return html`<button class="button" type="button" @click=${choose}>
    ${icon('folder')} ${t('act.choose')}
  </button>`;
}

/**
 * @param {{ url: string, modelName: string, inputPrice: string }} server
 * @param {string | null} problem
 */
function serverFields(server, problem) {
  const fields = /** @type {const} */ (['url', 'modelName', 'inputPrice']);
  return html`<p class="hint">${t('models.server.hint')}</p>
    ${fields.map((name) =>
      dialogField({
        id: `server-${name}`,
        label: t(`models.server.${name}`),
        value: server[name],
        write: (value) => {
          server[name] = value;
        },
      }),
    )}
    ${problem ? html`<p class="field-problem">${t('models.server.problem')}</p>` : nothing}`;
}
