/** The pane beside the list: the source of the result that the keys have led to. */

import { readPreference, savePreference } from '../../common/preferences.js';
import { Viewer } from '../viewer/viewer.js';

/** @typedef {import('../viewer/viewer.js').Shown} Shown */

/** Below this there is no room for both. */
const WIDE = matchMedia('(min-width: 80rem)');
/** A key that is held down passes many results; the file is read where it stops. */
const DELAY_MS = 60;

export class Preview {
  element = document.createElement('aside');
  #viewer = new Viewer({ pane: this.element, onClose: () => this.#onClose() });
  #isWanted = readPreference('search.preview') !== 'off';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {Shown | null} */
  #shown = null;
  #isClosing = false;

  /** @param {() => void} changed whether it is there */
  constructor(changed) {
    this.changed = changed;
    this.element.className = 'search-preview';
    this.element.hidden = true;
    WIDE.addEventListener('change', () => this.#follow());
  }

  /** Whether there is room for it. */
  get isPossible() {
    return WIDE.matches;
  }

  get isOpen() {
    return this.#isWanted && WIDE.matches;
  }

  /** @param {Shown | null} shown */
  show(shown) {
    this.#shown = shown;
    this.element.hidden = !this.isOpen || !shown;
    clearTimeout(this.#timer);
    if (this.element.hidden) return;
    this.#timer = setTimeout(() => shown && this.#viewer.open(shown), DELAY_MS);
  }

  /**
   * Show what is known of a place; false if there is no room for it here.
   *
   * @param {Shown} shown
   */
  inspect(shown) {
    if (!this.isOpen) return false;
    this.element.hidden = false;
    this.#shown = shown;
    clearTimeout(this.#timer);
    this.#viewer.open(shown);
    this.#viewer.toggleInsight();
    return true;
  }

  toggle() {
    this.#isWanted = !this.#isWanted;
    savePreference('search.preview', this.#isWanted ? 'on' : 'off');
    this.#follow();
  }

  #onClose() {
    if (!this.#isClosing && this.#isWanted) this.toggle();
  }

  #follow() {
    if (!this.isOpen) {
      this.#isClosing = true;
      this.#viewer.close();
      this.#isClosing = false;
    }
    this.show(this.#shown);
    this.changed();
  }
}
