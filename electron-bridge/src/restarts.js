/** How often, and after which pause, something that crashed is started again. */

import { MAX_CONSECUTIVE_RESTARTS, STABLE_AFTER_MS } from './page_api.js';

/** Long enough for a disk or a driver to come back, short enough to watch. */
const PAUSES_MS = [250, 1000, 4000];

export class RestartPolicy {
  #inARow = 0;
  /** @type {number | null} */
  #upSince = null;

  /**
   * @param {{
   *   most?: number, pausesMs?: number[], calmAfterMs?: number, now?: () => number
   * }} [options]
   */
  constructor({
    most = MAX_CONSECUTIVE_RESTARTS,
    pausesMs = PAUSES_MS,
    calmAfterMs = STABLE_AFTER_MS,
    now = () => performance.now(),
  } = {}) {
    this.most = most;
    this.pausesMs = pausesMs;
    this.calmAfterMs = calmAfterMs;
    this.now = now;
  }

  /** How many restarts there were since it last ran calmly. */
  get inARow() {
    return this.#inARow;
  }

  /** It works. */
  up() {
    this.#upSince = this.now();
  }

  /**
   * It crashed.
   *
   * @returns {number | null} milliseconds to wait before the next start; null: give up
   */
  crashed() {
    const wasCalm = this.#upSince !== null && this.now() - this.#upSince >= this.calmAfterMs;
    this.#upSince = null;
    if (wasCalm) this.#inARow = 0;
    if (this.#inARow >= this.most) return null;
    this.#inARow += 1;
    return this.pausesMs[Math.min(this.#inARow, this.pausesMs.length) - 1] ?? 0;
  }
}
