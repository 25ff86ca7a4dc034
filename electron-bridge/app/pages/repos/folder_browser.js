/** Folders of this machine, for a page that has no dialog of the system. */

import { findFolderProblem, tidyPath } from '../common/folders.js';
import { t } from '../common/i18n.js';
import { icon } from '../common/icons.js';
import { kernel } from '../common/kernel.js';
import { html, nothing } from '../common/lit.js';
import { oneLine } from '../common/failures.js';

/** @typedef {import('../../../types/protocol.d.ts').ListFoldersReply} FolderList */

export class FolderBrowser {
  /** @type {FolderList | null} */
  #list = null;
  /** @type {unknown} */
  #failure = null;
  #showsHidden = false;
  #number = 0;

  /**
   * @param {() => void} changed
   * @param {(path: string) => void} choose
   */
  constructor(changed, choose) {
    this.changed = changed;
    this.choose = choose;
  }

  /** @param {string} folder to begin with: what is not there leads to the home folder */
  async open(folder) {
    const path = findFolderProblem(folder) ? '' : tidyPath(folder);
    if (!(await this.#load(path)) && path) await this.#load('');
  }

  template() {
    if (!this.#list) {
      return this.#failure ? html`<p class="field-problem">${oneLine(this.#failure)}</p>` : nothing;
    }
    const { path, parent, folders, isComplete } = this.#list;
    const shown = folders.filter(({ isHidden }) => this.#showsHidden || !isHidden);
    return html`<section class="folder-browser" aria-label=${t('browse.label')}>
      <div class="folder-browser-head">
        <button
          class="button small quiet icon"
          type="button"
          aria-label=${t('browse.up')}
          title=${t('browse.up')}
          ?disabled=${!parent}
          @click=${() => this.#enter(parent)}
        >
          ${icon('chevron-up')}
        </button>
        <code class="folder-browser-path">${path}</code>
        <label class="check">
          <input
            type="checkbox"
            .checked=${this.#showsHidden}
            @change=${(/** @type {any} */ { target }) => this.#showHidden(target.checked)}
          />
          <span>${t('browse.hidden')}</span>
        </label>
      </div>
      ${this.#failure ? html`<p class="field-problem">${oneLine(this.#failure)}</p>` : nothing}
      <ul class="folder-browser-list">
        ${shown.map(
          (folder) =>
            html`<li>
              <button class="folder-entry" type="button" @click=${() => this.#enter(folder.path)}>
                ${icon('folder')} <span>${folder.name}</span>
                ${folder.isRepository ? html`<span class="badge accent">git</span>` : nothing}
              </button>
            </li>`,
        )}
      </ul>
      ${shown.length === 0 ? html`<p class="faint">${t('browse.none')}</p>` : nothing}
      ${isComplete ? nothing : html`<p class="faint">${t('browse.more')}</p>`}
    </section>`;
  }

  /** @param {string} path */
  async #enter(path) {
    if (await this.#load(path)) this.choose(path);
  }

  /** @param {boolean} showsHidden */
  #showHidden(showsHidden) {
    this.#showsHidden = showsHidden;
    this.changed();
  }

  /** @param {string} path */
  async #load(path) {
    this.#number += 1;
    const number = this.#number;
    try {
      const list = await kernel.listFolders({ path });
      if (number !== this.#number) return false;
      this.#list = list;
      this.#failure = null;
    } catch (failure) {
      if (number !== this.#number) return false;
      this.#failure = failure;
    }
    this.changed();
    return this.#failure === null;
  }
}
