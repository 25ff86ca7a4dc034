/** The app's windows: one of each kind, one per repository; what each may ask. */

import { KernelError } from '../../src/index.js';
import { HOST_CALLS } from '../../src/page_api.js';

const ORIGIN = 'codekernel://app';

/** @type {Record<string, { width: number, height: number, minWidth: number, minHeight: number }>} */
const SIZES = {
  repos: { width: 880, height: 660, minWidth: 480, minHeight: 400 },
  repository: { width: 1240, height: 820, minWidth: 560, minHeight: 420 },
  settings: { width: 960, height: 760, minWidth: 520, minHeight: 420 },
};

/**
 * @typedef {{
 *   create(options: object): any,
 *   admit(contents: any, rights: { page: string, calls: readonly string[] }): void,
 *   screens(): import('./window_state.js').Area[],
 *   state: import('./window_state.js').WindowState,
 *   calls: Record<string, readonly string[]>,
 * }} WindowHost what windows are made with; `calls`: of the kernel, by page
 */

export class Windows {
  /** @type {Map<string, any>} */
  #open = new Map();

  /** @param {WindowHost} host */
  constructor(host) {
    this.host = host;
  }

  /**
   * Show a window: the one that is open already, or a new one.
   *
   * @param {{ page?: unknown, repoName?: unknown }} wanted
   */
  async show({ page, repoName }) {
    if (typeof page !== 'string' || !Object.hasOwn(SIZES, page)) {
      throw new KernelError('WRONG_PARAM', `There is no window ${String(page).slice(0, 80)}.`);
    }
    if (page === 'repository' && (typeof repoName !== 'string' || repoName === '')) {
      throw new KernelError('WRONG_PARAM', 'Which repository? repoName is missing.');
    }
    const name = nameOf(page, repoName);
    const before = this.#open.get(name);
    if (before && !before.isDestroyed()) {
      focus(before);
      return;
    }
    const address = new URL(`${ORIGIN}/${page}.html`);
    if (page === 'repository') address.searchParams.set('repo', String(repoName));
    await this.#create(name, page, address.href);
  }

  /** @param {string} repoName there is nothing left to show of it */
  closeRepository(repoName) {
    const window = this.#open.get(nameOf('repository', repoName));
    if (window && !window.isDestroyed()) window.close();
  }

  /** Bring the window that was used last to the front; false if there is none. */
  focusAny() {
    const last = [...this.#open.values()].filter((window) => !window.isDestroyed()).pop();
    if (last) focus(last);
    return last !== undefined;
  }

  /**
   * @param {string} name
   * @param {string} page
   * @param {string} address
   */
  async #create(name, page, address) {
    const { host } = this;
    const { maximized, ...place } = host.state.place(name, host.screens(), SIZES[page]);
    const { minWidth, minHeight } = SIZES[page];
    const window = host.create({ ...place, minWidth, minHeight, show: false });
    this.#open.set(name, window);
    host.state.follow(name, window);
    host.admit(window.webContents, {
      page: address,
      calls: [...host.calls[page], ...HOST_CALLS],
    });
    window.on('focus', () => this.#markLatest(name, window));
    window.once('closed', () => this.#open.delete(name));
    window.once('ready-to-show', () => {
      if (maximized) window.maximize();
      window.show();
    });
    try {
      await window.loadURL(address);
    } catch (error) {
      if (window.isDestroyed()) return; // closed before it was shown
      window.destroy();
      throw new KernelError('UNKNOW_ERROR', `${page}.html cannot be shown: ${String(error)}`);
    }
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

/**
 * @param {string} page
 * @param {unknown} repoName
 */
function nameOf(page, repoName) {
  return page === 'repository' ? `repository:${repoName}` : page;
}

/** @param {any} window */
function focus(window) {
  if (window.isMinimized()) window.restore();
  window.show();
  window.focus();
}
