/** Polls the status of the index: every second while it works, seldom while it is idle. */

import { kernel } from '../../common/kernel.js';
import { Activity } from './activity.js';
import { advanced, isQuiet } from './progress.js';

/** @typedef {import('./progress.js').Status} Status */

const BUSY_INTERVAL_MS = 1_000;
const IDLE_INTERVAL_MS = 5_000;
/** After the status of a file, so that a burst of them is one request. */
const SOON_DELAY_MS = 150;

export class StatusWatch {
  activity = new Activity();
  /** @type {Status | null} */
  status = null;
  /** @type {import('./progress.js').Progress | null} */
  progress = null;
  /** @type {unknown} */
  failure = null;
  /** @type {Set<() => void>} */
  #listeners = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #isRefreshing = false;
  #endStatuses;
  #onVisible = () => this.#schedule(0);

  /** @param {import('../session/session.js').Session} session */
  constructor(session) {
    this.session = session;
    this.#endStatuses = kernel.on('embeddingStatus', (items) => {
      if (session.isPrepared) this.#onStatuses(items);
    });
    session.onChange(() => this.#sessionChanged());
    document.addEventListener('visibilitychange', this.#onVisible);
    this.#schedule(0);
  }

  /** @param {() => void} listener called after each change */
  onChange(listener) {
    this.#listeners.add(listener);
  }

  /** Whether files are still being read or embedded, as far as is known. */
  get isWorking() {
    return this.status !== null && !isQuiet(this.status) && this.status.state !== 'trouble';
  }

  /** Ask now. */
  async refresh() {
    if (this.#isRefreshing || !this.session.isPrepared) return;
    this.#isRefreshing = true;
    try {
      this.status = await kernel.getIndexStatus();
      this.progress = advanced(this.progress, /** @type {Status} */ (this.status));
      this.failure = null;
    } catch (failure) {
      this.failure = failure;
    }
    this.#isRefreshing = false;
    this.#notify();
    this.#schedule();
  }

  /** Have the kernel try now what it would try again later. */
  async retry() {
    try {
      await kernel.pauseIndexing({ paused: Boolean(this.status?.paused) });
    } catch (failure) {
      this.failure = failure;
    }
    await this.refresh();
  }

  /** The repository is gone. */
  end() {
    clearTimeout(this.#timer);
    this.#endStatuses();
    document.removeEventListener('visibilitychange', this.#onVisible);
    this.#listeners.clear();
  }

  #sessionChanged() {
    if (this.session.isPrepared) this.#schedule(0);
    else this.activity.clear();
    this.#notify();
  }

  /** @param {import('./activity.js').News[]} items */
  #onStatuses(items) {
    this.activity.addStatuses(items);
    this.#notify();
    if (this.status && isQuiet(this.status)) this.#schedule(SOON_DELAY_MS);
  }

  /** @param {number} [delay] */
  #schedule(delay = this.status && isQuiet(this.status) ? IDLE_INTERVAL_MS : BUSY_INTERVAL_MS) {
    clearTimeout(this.#timer);
    if (document.hidden || !this.session.isPrepared) return;
    this.#timer = setTimeout(() => this.refresh(), delay);
  }

  #notify() {
    for (const listener of this.#listeners) listener();
  }
}
