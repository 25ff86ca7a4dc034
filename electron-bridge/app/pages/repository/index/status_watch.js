/** How far the index is, asked for now and then: every second while something happens. */

import { kernel } from '../../common/kernel.js';
import { Activity } from './activity.js';
import { advanced, isQuiet } from './progress.js';

/** @typedef {import('./progress.js').Status} Status */

const BUSY_MS = 1_000;
const QUIET_MS = 5_000;
/** After news of a file, so that a burst of them is one question. */
const SOON_MS = 150;

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
  #clock;
  #isAsking = false;

  /** @param {import('../session/session.js').Session} session */
  constructor(session) {
    this.session = session;
    kernel.on('embeddingStatus', (items) => this.#news(items));
    session.onChange(() => this.#sessionChanged());
    document.addEventListener('visibilitychange', () => this.#wind(0));
    this.#wind(0);
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
  async ask() {
    if (this.#isAsking || !this.session.isPrepared) return;
    this.#isAsking = true;
    try {
      this.status = await kernel.getIndexStatus();
      this.progress = advanced(this.progress, /** @type {Status} */ (this.status));
      this.failure = null;
    } catch (failure) {
      this.failure = failure;
    }
    this.#isAsking = false;
    this.#tell();
    this.#wind();
  }

  #sessionChanged() {
    if (this.session.isPrepared) this.#wind(0);
    else this.activity.clear();
    this.#tell();
  }

  /** @param {import('./activity.js').News[]} items */
  #news(items) {
    this.activity.take(items);
    this.#tell();
    if (this.status && isQuiet(this.status)) this.#wind(SOON_MS);
  }

  /** @param {number} [delay] */
  #wind(delay = this.status && isQuiet(this.status) ? QUIET_MS : BUSY_MS) {
    clearTimeout(this.#clock);
    if (document.hidden || !this.session.isPrepared) return;
    this.#clock = setTimeout(() => this.ask(), delay);
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }
}
