/** Files that are not in the index, by reason; any number of them. */

import { formatCount } from '../../common/format.js';
import { hasText, t } from '../../common/i18n.js';
import { kernel } from '../../common/kernel.js';
import { html, live, nothing } from '../../common/lit.js';
import { failureState } from '../../common/states.js';
import { pathText } from '../viewer/file_path.js';
import { VirtualList } from '../virtual/virtual_list.js';
import { matchingSkipped } from './skipped_filter.js';

/** @typedef {import('./skipped_filter.js').Skipped} Skipped */

/** More than anybody looks through; the counts are of all of them. */
const LIMIT = 10_000;
const GUESSED_HEIGHT = 44;

export class SkippedFiles {
  /** @type {Skipped[]} */
  #skipped = [];
  #total = 0;
  /** @type {unknown} */
  #failure = null;
  #filter = { reason: '', text: '' };
  #isOpen = false;
  /** The counts at the last request, so that the list is requested again only after a change. */
  #requested = '';
  /** @type {() => void} */
  #changed;
  #scroller = document.createElement('div');
  /** @type {VirtualList<Skipped>} */
  #list;

  /** @param {() => void} changed */
  constructor(changed) {
    this.#changed = changed;
    const element = document.createElement('div');
    this.#scroller.className = 'skipped-scroller';
    this.#scroller.append(element);
    this.#list = new VirtualList({
      scroller: this.#scroller,
      element,
      label: () => t('skipped.title'),
      keyOf: ({ filePath }) => filePath,
      guess: GUESSED_HEIGHT,
      rowLabel: ({ filePath, reason, detail }) => `${filePath}: ${reasonName(reason)}. ${detail}`,
      row: skippedRow,
    });
  }

  /** @param {Record<string, number>} refused */
  async refresh(refused) {
    const requested = JSON.stringify(refused);
    if (!this.#isOpen || requested === this.#requested) return;
    this.#requested = requested;
    try {
      const { skipped, total } = await kernel.getSkippedFiles({ limit: LIMIT });
      this.#skipped = skipped;
      this.#total = total;
      this.#failure = null;
    } catch (failure) {
      this.#failure = failure;
      this.#requested = '';
    }
    this.#apply(true);
  }

  /** @param {Record<string, number>} refused how many files for each reason */
  template(refused) {
    const reasons = Object.entries(refused).sort(([, one], [, other]) => other - one);
    const count = reasons.reduce((sum, [, one]) => sum + one, 0);
    return html`<section class="card index-card" aria-labelledby="skipped-title">
      <h2 id="skipped-title">${t('skipped.title')}</h2>
      <p class="muted">${count === 0 ? t('skipped.none') : t('skipped.count', { count })}</p>
      ${count > 0 ? this.#inside(reasons, refused) : nothing}
    </section>`;
  }

  /**
   * @param {[string, number][]} reasons
   * @param {Record<string, number>} refused
   */
  #inside(reasons, refused) {
    return html`<div class="chips" role="group" aria-label=${t('skipped.reasons')}>
        ${reasons.map(
          ([reason, count]) =>
            html`<button
              class=${this.#filter.reason === reason ? 'chip set' : 'chip'}
              type="button"
              aria-pressed=${String(this.#filter.reason === reason)}
              title=${reasonHint(reason)}
              @click=${() => this.#choose(reason, refused)}
            >
              <span class="chip-value">${reasonName(reason)}</span>
              <span class="chip-count">${formatCount(count)}</span>
            </button>`,
        )}
      </div>
      <button
        class="button small"
        type="button"
        aria-expanded=${String(this.#isOpen)}
        @click=${() => this.#open(!this.#isOpen, refused)}
      >
        ${this.#isOpen ? t('skipped.hide') : t('skipped.show')}
      </button>
      ${this.#isOpen ? this.#files() : nothing}`;
  }

  #files() {
    if (this.#failure) return failureState(this.#failure);
    return html`<input
        class="input"
        type="search"
        aria-label=${t('skipped.filter')}
        placeholder=${t('skipped.filter')}
        .value=${live(this.#filter.text)}
        @input=${(/** @type {any} */ { target }) => this.#search(target.value)}
      />
      <p class="faint" role="status">
        ${t('skipped.shown', { count: this.#list.count, total: this.#total })}
      </p>
      ${this.#scroller}`;
  }

  /**
   * @param {string} reason
   * @param {Record<string, number>} refused
   */
  #choose(reason, refused) {
    this.#filter.reason = this.#filter.reason === reason ? '' : reason;
    this.#open(true, refused);
  }

  /** @param {string} text */
  #search(text) {
    this.#filter.text = text;
    this.#apply(false);
  }

  /**
   * @param {boolean} isOpen
   * @param {Record<string, number>} refused
   */
  #open(isOpen, refused) {
    this.#isOpen = isOpen;
    this.#apply(false);
    this.refresh(refused);
  }

  /** @param {boolean} keepPlace */
  #apply(keepPlace) {
    this.#changed();
    // The scroller has its height when the section is drawn.
    queueMicrotask(() =>
      this.#list.setItems(matchingSkipped(this.#skipped, this.#filter), { keepPlace }),
    );
    queueMicrotask(this.#changed);
  }
}

/** @param {Skipped} skipped */
function skippedRow({ filePath, reason, detail }) {
  return html`<div class="skipped-row">
    ${pathText(filePath)}
    <span class="badge">${reasonName(reason)}</span>
    <span class="skipped-detail faint">${detail}</span>
  </div>`;
}

/** @param {string} reason */
function reasonName(reason) {
  return hasText(`reason.${reason}`) ? t(`reason.${reason}`) : reason;
}

/** @param {string} reason */
function reasonHint(reason) {
  return hasText(`reason.${reason}.hint`) ? t(`reason.${reason}.hint`) : reason;
}
