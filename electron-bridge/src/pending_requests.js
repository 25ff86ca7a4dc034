/** Pending requests: each is settled exactly once, by a reply, a timeout or a failure. */

import { KernelError, Reason } from './errors.js';

/**
 * @typedef {{
 *   id: number,
 *   type: string,
 *   sessionId: number,
 *   run: object | null,
 *   onReply: (reply: import('./envelope.js').Envelope) => boolean,
 *   onFail: (reason: KernelError) => void,
 *   timer: NodeJS.Timeout | undefined,
 *   signal: AbortSignal | undefined,
 *   onAbort: () => void,
 * }} Entry
 * `run`: the run it was sent to, or null while it waits to be sent.
 * `onReply` says whether this was the last reply.
 */

export class PendingRequests {
  /** @type {Map<number, Entry>} */
  #entries = new Map();
  #nextId = 1;

  get size() {
    return this.#entries.size;
  }

  /**
   * @param {{
   *   type: string,
   *   sessionId: number,
   *   onReply: Entry['onReply'],
   *   onFail: Entry['onFail'],
   *   timeoutMs?: number,
   *   signal?: AbortSignal,
   * }} request `timeoutMs` is for the first reply; without it one waits for ever
   * @returns {Entry}
   */
  add({ type, sessionId, onReply, onFail, timeoutMs, signal }) {
    const id = this.#nextId;
    this.#nextId += 1;
    const onAbort = () => {
      this.fail(id, new KernelError(Reason.ABORTED, `${type} was aborted.`));
    };
    const timer = timeoutMs
      ? setTimeout(() => {
          const message = `The kernel did not answer ${type} within ${timeoutMs / 1000} seconds.`;
          this.fail(id, new KernelError(Reason.TIMEOUT, message));
        }, timeoutMs)
      : undefined;
    const entry = { id, type, sessionId, run: null, onReply, onFail, timer, signal, onAbort };
    this.#entries.set(id, entry);
    signal?.addEventListener('abort', onAbort, { once: true });
    return entry;
  }

  /** @param {number} id */
  has(id) {
    return this.#entries.has(id);
  }

  /**
   * @param {import('./envelope.js').Envelope} reply
   * @returns {boolean} false if no request is pending for it
   */
  settle(reply) {
    const entry = this.#entries.get(reply.callbackId);
    if (!entry) return false;
    clearTimeout(entry.timer);
    if (entry.onReply(reply)) this.forget(entry.id);
    return true;
  }

  /**
   * @param {number} id
   * @param {KernelError} reason
   */
  fail(id, reason) {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.forget(id);
    entry.onFail(reason);
  }

  /**
   * @param {(entry: Entry) => boolean} isMeant
   * @param {KernelError} reason
   */
  failAll(isMeant, reason) {
    for (const entry of [...this.#entries.values()]) {
      if (isMeant(entry)) this.fail(entry.id, reason);
    }
  }

  /** @param {number} id */
  forget(id) {
    const entry = this.#entries.get(id);
    if (!entry) return;
    clearTimeout(entry.timer);
    entry.signal?.removeEventListener('abort', entry.onAbort);
    this.#entries.delete(id);
  }
}
