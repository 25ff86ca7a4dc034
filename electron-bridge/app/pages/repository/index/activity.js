/** Files in progress and files just finished, from the statuses of the kernel. Pure. */

/** @typedef {{ filePath: string, status: string, progress: number }} News */
/** @typedef {{ filePath: string, progress: number }} Entry */

/** More than a user looks through. */
const MAX_FINISHED = 100;

export class Activity {
  /** @type {Map<string, number>} */
  #underWay = new Map();
  /** @type {Map<string, true>} oldest first */
  #finished = new Map();
  finishedCount = 0;

  /** @param {readonly News[]} items */
  addStatuses(items) {
    for (const { filePath, status, progress } of items) {
      if (status === 'done') this.#finish(filePath);
      else this.#underWay.set(filePath, Math.max(this.#underWay.get(filePath) ?? 0, progress));
    }
  }

  /** Forget all; a restarted kernel sends its statuses again. */
  clear() {
    this.#underWay.clear();
  }

  get underWayCount() {
    return this.#underWay.size;
  }

  /**
   * @param {number} limit
   * @returns {Entry[]} those that have come furthest first
   */
  underWay(limit) {
    const all = [...this.#underWay].map(([filePath, progress]) => ({ filePath, progress }));
    return all.sort((one, other) => other.progress - one.progress).slice(0, limit);
  }

  /**
   * @param {number} limit
   * @returns {string[]} newest first
   */
  finished(limit) {
    return [...this.#finished.keys()].reverse().slice(0, limit);
  }

  /** @param {string} filePath */
  #finish(filePath) {
    this.#underWay.delete(filePath);
    this.#finished.delete(filePath);
    this.#finished.set(filePath, true);
    this.finishedCount += 1;
    if (this.#finished.size > MAX_FINISHED) {
      this.#finished.delete(/** @type {string} */ (this.#finished.keys().next().value));
    }
  }
}
