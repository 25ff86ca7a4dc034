/**
 * A list of any length of which only the rows in sight are in the page.
 *
 * Rows may have any height and may change it. One of them is active: it is where Tab leads, and
 * keys move it. A row that has the focus and goes out of sight leaves it to the list.
 */

import { html, nothing, render, repeat } from '../../common/lit.js';
import { Heights, rowsInSight } from './heights.js';
import { destination } from './list_keys.js';

/** Pixels on either side of what is in sight that are drawn, too. */
const BEYOND = 300;

/**
 * @template Item
 * @typedef {object} ListOptions
 * @property {HTMLElement} scroller what scrolls; the list stands in it
 * @property {HTMLElement} element an empty element for the list
 * @property {() => string} label
 * @property {(item: Item) => unknown} keyOf
 * @property {(item: Item, index: number, isActive: boolean) => unknown} row
 * @property {(item: Item, index: number) => string} rowLabel
 * @property {number} guess pixels of a row that was not measured yet
 * @property {(event: KeyboardEvent, item: Item, index: number) => void} [onKey] other keys
 * @property {(event: MouseEvent, item: Item, index: number) => void} [onOpen] a double click
 * @property {() => void} [onLeave] moved up from the first row
 * @property {(item: Item, index: number) => void} [onActive] another row is the active one
 */

/** @template Item */
export class VirtualList {
  /** @type {readonly Item[]} */
  #items = [];
  #heights = new Heights(0, 1);
  #range = { begin: 0, end: 0 };
  #active = 0;
  #isWaiting = false;
  #sizes = new ResizeObserver((entries) => this.#measure(entries));
  /** @type {Set<Element>} */
  #observed = new Set();
  /** @type {ListOptions<Item>} */
  #options;

  /** @param {ListOptions<Item>} options */
  constructor(options) {
    this.#options = options;
    const { scroller, element } = options;
    element.classList.add('virtual-list');
    element.setAttribute('role', 'list');
    element.addEventListener('keydown', (event) => this.#key(event));
    element.addEventListener('focusin', (event) => this.#focused(event));
    scroller.addEventListener('scroll', () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(scroller);
  }

  get count() {
    return this.#items.length;
  }

  /**
   * @param {readonly Item[]} items
   * @param {{ keepPlace?: boolean }} [options] further items at the end of the same list
   */
  setItems(items, { keepPlace = false } = {}) {
    const before = this.#heights;
    const kept = keepPlace ? Math.min(before.count, items.length) : 0;
    this.#items = items;
    this.#heights = new Heights(items.length, this.#options.guess);
    for (let index = 0; index < kept; index += 1) this.#heights.set(index, before.of(index));
    if (!keepPlace) {
      this.#active = 0;
      this.#options.scroller.scrollTop = 0;
    }
    this.#active = Math.max(0, Math.min(this.#active, items.length - 1));
    this.#sizes.disconnect();
    this.#observed.clear(); // a row that stays may stand for another item now: measured again
    this.now();
  }

  /** Draw with the next frame. */
  draw() {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    requestAnimationFrame(() => {
      this.#isWaiting = false;
      this.now();
    });
  }

  now() {
    const { element } = this.#options;
    this.#range = this.#wanted();
    this.#keepFocus();
    this.#render();
    for (const row of this.#observed) {
      if (row.isConnected) continue;
      this.#sizes.unobserve(row);
      this.#observed.delete(row);
    }
    for (const row of element.querySelectorAll(':scope > .virtual-row')) {
      if (this.#observed.has(row)) continue;
      this.#sizes.observe(row);
      this.#observed.add(row);
    }
  }

  /**
   * Bring a row into sight, make it the active one, and give it the focus.
   *
   * @param {number} index
   */
  focus(index) {
    if (this.#items.length === 0) return;
    this.select(index);
    this.#rowElement(this.#active)?.focus({ preventScroll: true });
    this.#bringIntoSight(this.#active);
  }

  /**
   * Bring a row into sight and make it the active one; the focus stays where it is.
   *
   * @param {number} index
   */
  select(index) {
    if (this.#items.length === 0) return;
    this.#active = Math.max(0, Math.min(index, this.#items.length - 1));
    this.#bringIntoSight(this.#active);
    this.now();
    this.#options.onActive?.(this.#items[this.#active], this.#active);
  }

  /** The active one. @returns {Item | undefined} */
  get active() {
    return this.#items[this.#active];
  }

  #wanted() {
    const { scroller, element } = this.#options;
    const top = scroller.scrollTop - this.#offset(scroller, element);
    return rowsInSight(this.#heights, { top, height: scroller.clientHeight, beyond: BEYOND });
  }

  /**
   * How far below the scroller's beginning the list begins.
   *
   * @param {HTMLElement} scroller
   * @param {HTMLElement} element
   */
  #offset(scroller, element) {
    const distance = element.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    return distance + scroller.scrollTop;
  }

  #render() {
    const { element, keyOf, row, rowLabel, label } = this.#options;
    const { begin, end } = this.#range;
    const items = this.#items.slice(begin, end);
    element.setAttribute('aria-label', label());
    element.tabIndex = this.#items.length > 0 && !this.#isDrawn(this.#active) ? 0 : -1;
    const above = this.#heights.before(begin);
    const below = this.#heights.total - this.#heights.before(end);
    render(
      html`<div class="virtual-space" role="presentation" .style=${`height:${above}px`}></div>
        ${repeat(
          items,
          (item) => keyOf(item),
          (item, place) => {
            const index = begin + place;
            return html`<div
              class="virtual-row"
              role="listitem"
              data-index=${index}
              tabindex=${index === this.#active ? 0 : -1}
              aria-setsize=${this.#items.length}
              aria-posinset=${index + 1}
              aria-label=${rowLabel(item, index)}
              aria-current=${index === this.#active ? 'true' : nothing}
              @dblclick=${(/** @type {MouseEvent} */ event) =>
                this.#options.onOpen?.(event, item, index)}
            >
              ${row(item, index, index === this.#active)}
            </div>`;
          },
        )}
        <div class="virtual-space" role="presentation" .style=${`height:${below}px`}></div>`,
      element,
    );
  }

  /**
   * Rows have their heights now. What lies above the first one in sight must not push it away.
   *
   * @param {ResizeObserverEntry[]} entries
   */
  #measure(entries) {
    const { scroller, element } = this.#options;
    const top = scroller.scrollTop - this.#offset(scroller, element);
    const first = this.#heights.count > 0 ? this.#heights.at(Math.max(0, top)) : 0;
    let shift = 0;
    let isChanged = false;
    for (const { target, borderBoxSize } of entries) {
      const index = Number(/** @type {HTMLElement} */ (target).dataset.index);
      const height = borderBoxSize[0].blockSize;
      if (!(index < this.#heights.count) || height === 0) continue;
      const growth = this.#heights.set(index, height);
      isChanged ||= growth !== 0;
      if (index < first) shift += growth;
    }
    if (!isChanged) return;
    if (shift !== 0) scroller.scrollTop += shift;
    this.#render();
    this.draw();
  }

  /** @param {number} index */
  #bringIntoSight(index) {
    const { scroller, element } = this.#options;
    const top = this.#offset(scroller, element) + this.#heights.before(index);
    const bottom = top + this.#heights.of(index);
    const margin = 8;
    if (top - margin < scroller.scrollTop) scroller.scrollTop = top - margin;
    else if (bottom + margin > scroller.scrollTop + scroller.clientHeight) {
      const fits = bottom - top <= scroller.clientHeight;
      scroller.scrollTop = fits ? bottom + margin - scroller.clientHeight : top - margin;
    }
  }

  #keepFocus() {
    const { element } = this.#options;
    const row = rowAround(document.activeElement);
    if (row && element.contains(row) && !this.#isDrawn(Number(row.dataset.index))) {
      element.tabIndex = -1;
      element.focus({ preventScroll: true });
    }
  }

  /** @param {number} index */
  #isDrawn(index) {
    return index >= this.#range.begin && index < this.#range.end;
  }

  /**
   * @param {number} index
   * @returns {HTMLElement | null}
   */
  #rowElement(index) {
    return this.#options.element.querySelector(`[data-index="${index}"]`);
  }

  /** @param {FocusEvent} event */
  #focused(event) {
    const row = rowAround(event.target);
    if (!row || Number(row.dataset.index) === this.#active) return;
    this.#active = Number(row.dataset.index);
    this.draw();
    this.#options.onActive?.(this.#items[this.#active], this.#active);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const rows = Math.max(1, this.#range.end - this.#range.begin - 2);
    const to = destination(event, { active: this.#active, count: this.#items.length, page: rows });
    const target = /** @type {HTMLElement} */ (event.target);
    const isInside = target.closest('input, textarea, select, [contenteditable]');
    if (isInside) return;
    if (to !== null) {
      event.preventDefault();
      if (to < 0) this.#options.onLeave?.();
      else this.focus(to);
    } else if (this.#items.length > 0) {
      this.#options.onKey?.(event, this.#items[this.#active], this.#active);
    }
  }
}

/**
 * @param {EventTarget | null} target
 * @returns {HTMLElement | null}
 */
function rowAround(target) {
  return target instanceof Element ? target.closest('.virtual-row') : null;
}
