/** Chooses the repositories that are searched; there only where there are several. */

import { openDialog } from '../../common/dialog.js';
import { t } from '../../common/i18n.js';
import { kernel } from '../../common/kernel.js';
import { html, live, nothing } from '../../common/lit.js';
import { ALL, OWN, scopeOf } from './scope.js';

/** @typedef {import('./scope.js').Scope} Scope */

const CHOOSE = 'choose';

export class ScopePicker {
  /** @type {string[]} */
  #all = [];

  /**
   * @param {string} own the page's repository
   * @param {{ changed: () => void, choose: (scope: Scope) => void }} callbacks
   */
  constructor(own, callbacks) {
    this.own = own;
    this.callbacks = callbacks;
    kernel.on('reposChanged', () => this.load());
  }

  async load() {
    try {
      this.#all = (await kernel.getRepos()).repoList.map(({ name }) => name).sort();
      this.callbacks.changed();
    } catch {
      // the kernel is away; the list comes with its next change, or when the tab is shown again
    }
  }

  /** @param {Scope} scope */
  template(scope) {
    if (this.#all.length < 2 && scope.length === 0) return nothing;
    const isSome = scope.length > 0 && scope[0] !== ALL;
    const option = (
      /** @type {string} */ value,
      /** @type {boolean} */ isNow,
      /** @type {string} */ text,
    ) => html`<option value=${value} .selected=${live(isNow)}>${text}</option>`;
    return html`<select
      class="select search-scope"
      aria-label=${t('scope.label')}
      @change=${(/** @type {any} */ { target }) => this.#onChange(target, scope)}
    >
      ${option('', scope.length === 0, t('scope.own'))}
      ${option(ALL, scope[0] === ALL, t('scope.all', { count: this.#all.length }))}
      ${isSome ? option('some', true, scope.join(', ')) : nothing}
      ${option(CHOOSE, false, t('scope.choose'))}
    </select>`;
  }

  /**
   * @param {HTMLSelectElement} select
   * @param {Scope} scope
   */
  async #onChange(select, scope) {
    if (select.value !== CHOOSE) {
      this.callbacks.choose(select.value === ALL ? [ALL] : OWN);
      return;
    }
    const chosen = await this.#ask(scope);
    this.callbacks.choose(chosen ?? scope);
  }

  /** @param {Scope} scope */
  #ask(scope) {
    const names = scope[0] === ALL ? this.#all : scope.length > 0 ? scope : [this.own];
    const chosen = new Set(names);
    const toggle = (/** @type {string} */ name) => chosen.delete(name) || chosen.add(name);
    return openDialog({
      title: t('scope.label'),
      body: (/** @type {import('../../common/dialog.js').DialogHandle<Scope>} */ { close }) =>
        html`<div class="dialog-body scope-choice">
            ${this.#all.map(
              (name) =>
                html`<label class="check">
                  <input
                    type="checkbox"
                    .checked=${chosen.has(name)}
                    @change=${() => toggle(name)}
                  />
                  <span>${name}</span>
                </label>`,
            )}
          </div>
          <div class="dialog-actions">
            <button class="button" type="button" @click=${() => close()}>${t('act.cancel')}</button>
            <button
              class="button primary"
              type="button"
              @click=${() => close(scopeOf([...chosen], { own: this.own, all: this.#all }))}
            >
              ${t('scope.search')}
            </button>
          </div>`,
    });
  }
}
