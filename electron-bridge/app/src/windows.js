/** The app's windows: each shows any page; what is shown somewhere already is not shown twice. */

import { KernelError } from '../../src/index.js';
import { pageAddress, PAGES, placeOf } from '../pages/common/page_address.js';

/** @typedef {import('../pages/common/page_address.js').Place} Place */

const ORIGIN = 'codekernel://app';
const SIZE = { width: 1240, height: 820 };
const MIN_SIZE = { minWidth: 400, minHeight: 400 };

/**
 * @typedef {{
 *   create(options: object): any,
 *   admit(contents: any, rights: { page: readonly string[], calls: readonly string[] }): void,
 *   requestPlace(contents: any, address: string): void,
 *   screens(): import('./window_state.js').Area[],
 *   state: import('./window_state.js').WindowState,
 *   calls: readonly string[],
 * }} WindowHost what windows are made with; `calls`: what a page may ask
 */

export class Windows {
  /** The one that was used last at the end. @type {Map<string, any>} */
  #open = new Map();
  #isQuitting = false;

  /** @param {WindowHost} host */
  constructor(host) {
    this.host = host;
  }

  /**
   * Show a place in a window: in the one that shows its page already, or in a new one.
   *
   * @param {Record<string, any>} wanted a Place, of whatever a page or a link says
   */
  async show(wanted) {
    const place = checkPlace(wanted);
    const window = this.#find(place);
    if (!window) {
      await this.#create(place);
      return;
    }
    focus(window);
    const { page: _page, repoName: _repoName, ...details } = place;
    if (Object.keys(details).length > 0) this.#request(window, place);
  }

  /**
   * Show a place in the window that was used last.
   *
   * @param {Place} place
   */
  async go(place) {
    const last = this.#latest();
    if (!last) {
      await this.#create(place);
      return;
    }
    focus(last);
    this.#request(last, place);
  }

  /** Open the windows that were open at the last end, or one. */
  async restore() {
    const before = this.host.state.openAddresses().map((address) => placeAt(address));
    const places = before.length > 0 ? before : [{ page: /** @type {const} */ ('repos') }];
    for (const place of places) await this.#create(place);
  }

  /** The app ends: what is open now is opened again the next time. */
  quit() {
    this.#noteOpen();
    this.#isQuitting = true;
  }

  /** @param {string} repoName there is nothing left to show of it */
  closeRepository(repoName) {
    for (const window of this.#alive()) {
      const place = placeAt(window.webContents.getURL());
      if (place.page === 'repository' && place.repoName === repoName) {
        this.#request(window, { page: 'repos' });
      }
    }
  }

  /** Bring the window that was used last to the front; false if there is none. */
  focusAny() {
    const last = this.#latest();
    if (last) focus(last);
    return last !== undefined;
  }

  /** @returns {any[]} */
  #alive() {
    return [...this.#open.values()].filter((window) => !window.isDestroyed());
  }

  #latest() {
    return this.#alive().pop();
  }

  /** @param {Place} place */
  #find({ page, repoName }) {
    return this.#alive().find((window) => {
      const shown = placeAt(window.webContents.getURL());
      return shown.page === page && shown.repoName === repoName;
    });
  }

  /**
   * @param {any} window
   * @param {Place} place
   */
  #request(window, place) {
    this.host.requestPlace(window.webContents, addressOf(place));
  }

  /** @param {Place} place */
  async #create(place) {
    const { host } = this;
    const name = this.#freeName();
    const address = addressOf(place);
    const { maximized, ...where } = host.state.place(name, host.screens(), SIZE);
    const window = host.create({ ...where, ...MIN_SIZE, show: false });
    this.#open.set(name, window);
    host.state.follow(name, window);
    host.admit(window.webContents, {
      page: PAGES.map((page) => addressOf({ page })),
      calls: host.calls,
    });
    window.on('focus', () => this.#markLatest(name, window));
    window.webContents.on('did-navigate-in-page', () => this.#noteOpen());
    window.once('closed', () => {
      this.#open.delete(name);
      if (this.#open.size > 0) this.#noteOpen(); // the last one comes back at the next start
    });
    window.once('ready-to-show', () => {
      if (maximized) window.maximize();
      window.show();
    });
    try {
      await window.loadURL(address);
      this.#noteOpen();
    } catch (error) {
      if (window.isDestroyed()) return; // closed before it was shown
      window.destroy();
      throw new KernelError('UNKNOW_ERROR', `${address} cannot be shown: ${String(error)}`);
    }
  }

  /** Windows have places, not names: the first one comes back where the first one was. */
  #freeName() {
    let number = 1;
    while (this.#open.has(`window ${number}`)) number += 1;
    return `window ${number}`;
  }

  #noteOpen() {
    if (this.#isQuitting) return;
    this.host.state.noteOpen(this.#alive().map((window) => window.webContents.getURL()));
  }

  /**
   * @param {string} name
   * @param {any} window
   */
  #markLatest(name, window) {
    this.#open.delete(name);
    this.#open.set(name, window);
  }
}

/** @param {Place} place */
function addressOf({ page, ...which }) {
  return `${ORIGIN}/${pageAddress(page, which)}`;
}

/** @param {string} address */
function placeAt(address) {
  return URL.canParse(address)
    ? placeOf(new URL(address))
    : { page: /** @type {const} */ ('repos') };
}

/**
 * @param {Record<string, any>} wanted
 * @returns {Place}
 */
function checkPlace(wanted) {
  const { page, repoName } = wanted;
  if (!PAGES.includes(page)) {
    throw new KernelError('WRONG_PARAM', `There is no page ${String(page).slice(0, 80)}.`);
  }
  if (page === 'repository' && (typeof repoName !== 'string' || repoName === '')) {
    throw new KernelError('WRONG_PARAM', 'Which repository? repoName is missing.');
  }
  return placeAt(addressOf(/** @type {Place} */ (wanted))); // what an address can say, and no more
}

/** @param {any} window */
function focus(window) {
  if (window.isMinimized()) window.restore();
  window.show();
  window.focus();
}
