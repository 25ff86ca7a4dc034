/** How often, and after which pause, something that crashed is started again. */

/** A crash that repeats itself at once is seldom cured by a fourth attempt. */
export const MOST_IN_A_ROW = 3;
/** Long enough for a disk or a driver to come back, short enough to watch. */
const PAUSES_MS = [250, 1000, 4000];
/** What ran for so long crashed for a reason of its own, not because it was started. */
const CALM_AFTER_MS = 60_000;

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
    most = MOST_IN_A_ROW,
    pausesMs = PAUSES_MS,
    calmAfterMs = CALM_AFTER_MS,
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
