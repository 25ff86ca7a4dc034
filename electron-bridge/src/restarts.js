/** How often, and after which pause, something that crashed is started again. */

import { MAX_CONSECUTIVE_RESTARTS, STABLE_AFTER_MS } from './page_api.js';

/** Long enough for a disk or a driver to come back, short enough to watch. */
const DELAYS_MS = [250, 1000, 4000];

export class RestartPolicy {
  #restartCount = 0;
  /** @type {number | null} */
  #runningSince = null;

  /**
   * @param {{
   *   maxRestarts?: number, delaysMs?: number[], stableAfterMs?: number, now?: () => number
   * }} [options]
   */
  constructor({
    maxRestarts = MAX_CONSECUTIVE_RESTARTS,
    delaysMs = DELAYS_MS,
    stableAfterMs = STABLE_AFTER_MS,
    now = () => performance.now(),
  } = {}) {
    this.maxRestarts = maxRestarts;
    this.delaysMs = delaysMs;
    this.stableAfterMs = stableAfterMs;
    this.now = now;
  }

  /** How many restarts there were since it last ran calmly. */
  get restartCount() {
    return this.#restartCount;
  }

  /** It works. */
  markRunning() {
    this.#runningSince = this.now();
  }

  /**
   * It crashed.
   *
   * @returns {number | null} milliseconds to wait before the next start; null: give up
   */
  nextDelay() {
    const wasCalm =
      this.#runningSince !== null && this.now() - this.#runningSince >= this.stableAfterMs;
    this.#runningSince = null;
    if (wasCalm) this.#restartCount = 0;
    if (this.#restartCount >= this.maxRestarts) return null;
    this.#restartCount += 1;
    return this.delaysMs[Math.min(this.#restartCount, this.delaysMs.length) - 1] ?? 0;
  }
}
