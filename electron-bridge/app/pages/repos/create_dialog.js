/** The dialog that adds a repository: choose a folder, see what would be indexed, add it. */

import { formActions, openDialog } from '../common/dialog.js';
import { findFolderProblem, tidyPath } from '../common/folders.js';
import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { hostInfo, kernel } from '../common/kernel.js';
import { html, live, nothing } from '../common/lit.js';
import { failureState } from '../common/states.js';
import { FolderBrowser } from './folder_browser.js';
import { FolderPreview } from './folder_preview.js';

/**
 * Ask for a folder until it is registered.
 *
 * @param {{ folder?: string, note?: string }} [start] what is known already
 * @returns {Promise<string | undefined>} the new repository's name
 */
export async function createRepository({ folder, note = '' } = {}) {
  const host = await hostInfo().catch(() => ({ canChooseFolder: false, folder: '' }));
  const form = new CreateForm(folder ?? host.folder, host.canChooseFolder, note);
  return openDialog({
    title: t('create.title'),
    wide: true,
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
  /** What is in the list already. @type {import('./repo_order.js').Repo[]} */
  #repos = [];
  /** @type {Handle | null} */
  #handle = null;

  /**
   * @param {string} folder
   * @param {boolean} canChoose
   * @param {string} note
   */
  constructor(folder, canChoose, note) {
    this.folder = folder;
    this.canChoose = canChoose;
    this.note = note;
    const draw = () => this.#handle?.draw();
    this.preview = new FolderPreview(draw);
    this.browser = canChoose ? null : new FolderBrowser(draw, (path) => this.take(path));
    this.browser?.open(folder);
    if (folder) this.preview.ask(folder);
    this.#loadRepos();
  }

  async #loadRepos() {
    try {
      this.#repos = (await kernel.getRepos()).repoList;
      this.#handle?.draw();
    } catch {
      // then a folder that is in the list is opened all the same
    }
  }

  get #known() {
    return this.#repos.find(({ path }) => path === tidyPath(this.folder));
  }

  /** @param {Handle} handle */
  template(handle) {
    this.#handle = handle;
    const known = this.#known;
    return html`<form novalidate @submit=${(/** @type {Event} */ event) => this.submit(event)}>
      <div class="dialog-body">
        ${this.note ? html`<p class="notice">${this.note}</p>` : nothing}
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
              @input=${(/** @type {any} */ { target }) => this.take(target.value)}
            />
            ${
              this.canChoose
                ? html`<button class="button" type="button" @click=${() => this.choose()}>
                    ${icon('folder')} ${t('act.choose')}
                  </button>`
                : nothing
            }
          </div>
          <p id="create-folder-hint" class=${this.problem ? 'field-problem' : 'hint'}>
            ${t(this.problem ? `create.folder.${this.problem}` : 'create.folder.hint')}
          </p>
        </div>
        ${this.browser?.template() ?? nothing}
        ${
          known
            ? html`<p class="folder-preview" role="status">
                ${t('create.known', { name: known.name })}
              </p>`
            : this.preview.template()
        }
      </div>
      ${formActions({ submit: t(known ? 'create.open' : 'create.submit'), busy: this.isBusy, close: handle.close })}
    </form>`;
  }

  /** @param {string} folder */
  take(folder) {
    this.folder = folder;
    this.problem = null;
    this.failure = null;
    this.preview.ask(folder);
    this.#handle?.draw();
  }

  async choose() {
    try {
      const { folder } = await kernel.host('chooseFolder');
      if (folder) this.take(folder);
    } catch (failure) {
      this.failure = failure;
      this.#handle?.draw();
    }
  }

  /** @param {Event} event */
  async submit(event) {
    event.preventDefault();
    if (this.isBusy) return;
    this.problem = findFolderProblem(this.folder);
    this.failure = null;
    this.isBusy = !this.problem;
    this.#handle?.draw();
    if (this.problem) {
      document.getElementById('create-folder')?.focus();
      return;
    }
    try {
      const { repoName } = await kernel.registerFolder({ path: tidyPath(this.folder) });
      this.#handle?.close(repoName);
    } catch (failure) {
      this.isBusy = false;
      this.failure = failure;
      this.#handle?.draw();
    }
  }
}
