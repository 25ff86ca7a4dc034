/** Three tips for somebody who is here for the first time; skipped or read, they never come back. */

import { t } from '../../common/i18n.js';
import { html, nothing, ref } from '../../common/lit.js';
import { readPreference, savePreference } from '../../common/preferences.js';

/** @typedef {{ name: string, target: string }} Tip `target`: what it points at, as a selector */

/** @type {readonly Tip[]} */
const TIPS = Object.freeze([
  { name: 'search', target: '.search-box' },
  { name: 'talk', target: '#tab-talk' },
  { name: 'palette', target: '[aria-keyshortcuts="Control+K"]' },
]);
const PREFERENCE = 'tips';
const DONE = 'done';
const POINTED_AT = 'pointed-at';

export class FirstTips {
  #index = 0;

  /** @param {() => void} draw */
  constructor(draw) {
    this.draw = draw;
  }

  template() {
    if (readPreference(PREFERENCE) === DONE) return nothing;
    const { name } = TIPS[this.#index];
    const isLast = this.#index === TIPS.length - 1;
    return html`<section class="tips" aria-labelledby="tips-title" ${ref(this.#onShown)}>
      <p class="faint">${t('tips.count', { number: this.#index + 1, count: TIPS.length })}</p>
      <h2 id="tips-title">${t(`tips.${name}`)}</h2>
      <p>${t(`tips.${name}.text`)}</p>
      <div class="row">
        <button class="button small primary" type="button" @click=${this.#next}>
          ${t(isLast ? 'tips.done' : 'tips.next')}
        </button>
        ${
          isLast
            ? nothing
            : html`<button class="button small quiet" type="button" @click=${this.#end}>
                ${t('tips.skip')}
              </button>`
        }
      </div>
    </section>`;
  }

  #onShown = (/** @type {Element | undefined} */ section) =>
    this.#pointAt(section && TIPS[this.#index]);

  #next = () => {
    if (this.#index === TIPS.length - 1) {
      this.#end();
      return;
    }
    this.#index += 1;
    this.#pointAt(TIPS[this.#index]);
    this.draw();
  };

  #end = () => {
    savePreference(PREFERENCE, DONE);
    this.draw();
  };

  /** @param {Tip | undefined} tip none: the tips are out of sight */
  #pointAt(tip) {
    for (const element of document.querySelectorAll(`.${POINTED_AT}`)) {
      element.classList.remove(POINTED_AT);
    }
    if (tip) document.querySelector(tip.target)?.classList.add(POINTED_AT);
  }
}
