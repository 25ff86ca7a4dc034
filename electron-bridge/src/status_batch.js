/** Many small messages about files -> now and then one list, the latest word on each file. */

import { STATUS_FLUSH_INTERVAL_MS } from './page_api.js';

export class StatusBatch {
  /** @type {Map<string, object>} */
  #latest = new Map();
  /** @type {NodeJS.Timeout | null} */
  #timer = null;

  /**
   * @param {(statuses: object[]) => void} deliver
   * @param {number} [flushIntervalMs]
   */
  constructor(deliver, flushIntervalMs = STATUS_FLUSH_INTERVAL_MS) {
    this.deliver = deliver;
    this.flushIntervalMs = flushIntervalMs;
  }

  /** @param {{ filePath: string, status: string, progress: number }} message */
  add({ filePath, status, progress }) {
    this.#latest.delete(filePath); // so that the list is in the order of the latest messages
    this.#latest.set(filePath, { filePath, status, progress });
    this.#timer ??= setTimeout(() => this.flush(), this.flushIntervalMs);
  }

  flush() {
    this.clearTimer();
    if (this.#latest.size === 0) return;
    const statuses = [...this.#latest.values()];
    this.#latest.clear();
    this.deliver(statuses);
  }

  clearTimer() {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
