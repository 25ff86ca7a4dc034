/** The dialog that adds a repository. */

import { formActions, openDialog } from '../common/dialog.js';
import { findFolderProblem, folderName, tidyPath } from '../common/folders.js';
import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { hostInfo, kernel } from '../common/kernel.js';
import { html, live, nothing } from '../common/lit.js';
import { failureState } from '../common/states.js';

/**
 * Ask for a folder until it is registered.
 *
 * @returns {Promise<string | undefined>} the new repository's name
 */
export async function createRepository() {
  const host = await hostInfo().catch(() => ({ canChooseFolder: false, folder: '' }));
  const form = new CreateForm(host.folder, host.canChooseFolder);
  return openDialog({
    title: t('create.title'),
    body: (handle) => form.template(handle),
  });
}

/** @typedef {import('../common/dialog.js').DialogHandle<string>} Handle */

class CreateForm {
  isBusy = false;
  /** @type {unknown} */
  failure = null;
  /** @type {'empty' | 'relative' | null} */
  problem = null;

  /**
   * @param {string} folder
   * @param {boolean} canChoose
   */
  constructor(folder, canChoose) {
    this.folder = folder;
    this.canChoose = canChoose;
  }

  /** @param {Handle} handle */
  template(handle) {
    const name = folderName(this.folder);
    return html`<form
      novalidate
      @submit=${(/** @type {Event} */ event) => this.submit(event, handle)}
    >
      <div class="dialog-body">
        ${this.failure ? failureState(this.failure) : nothing}
        <div class="field">
          <label for="create-folder">${t('create.folder')}</label>
          <div class="folder-row">
            <input
              id="create-folder"
              class="input"
              name="folder"
              autocomplete="off"
              spellcheck="false"
              autofocus
              aria-describedby="create-folder-hint"
              aria-invalid=${this.problem ? 'true' : 'false'}
              .value=${live(this.folder)}
              @input=${(/** @type {any} */ { target }) => this.take(target.value, handle)}
            />
            ${
              this.canChoose
                ? html`<button class="button" type="button" @click=${() => this.choose(handle)}>
                    ${icon('folder')} ${t('act.choose')}
                  </button>`
                : nothing
            }
          </div>
          <p id="create-folder-hint" class=${this.problem ? 'field-problem' : 'hint'}>
            ${t(this.problem ? `create.folder.${this.problem}` : 'create.folder.hint')}
          </p>
        </div>
        <div class="field">
          <label for="create-name">${t('create.name')}</label>
          <input
            id="create-name"
            class="input"
            readonly
            aria-describedby="create-name-hint"
            .value=${name}
          />
          <p id="create-name-hint" class="hint">${t('create.name.hint')}</p>
        </div>
      </div>
      ${formActions({ submit: t('create.submit'), busy: this.isBusy, close: handle.close })}
    </form>`;
  }

  /**
   * @param {string} folder
   * @param {Handle} handle
   */
  take(folder, handle) {
    this.folder = folder;
    this.problem = null;
    this.failure = null;
    handle.draw();
  }

  /** @param {Handle} handle */
  async choose(handle) {
    try {
      const { folder } = await kernel.host('chooseFolder');
      if (folder) this.take(folder, handle);
    } catch (failure) {
      this.failure = failure;
      handle.draw();
    }
  }

  /**
   * @param {Event} event
   * @param {Handle} handle
   */
  async submit(event, handle) {
    event.preventDefault();
    if (this.isBusy) return;
    this.problem = findFolderProblem(this.folder);
    this.failure = null;
    this.isBusy = !this.problem;
    handle.draw();
    if (this.problem) {
      document.getElementById('create-folder')?.focus();
      return;
    }
    const path = tidyPath(this.folder);
    const repoName = folderName(path);
    try {
      await kernel.createRepo({ repoName, path });
      handle.close(repoName);
    } catch (failure) {
      this.isBusy = false;
      this.failure = failure;
      handle.draw();
    }
  }
}
