/** Pending calls: each is settled once, by its reply, a timeout, or the end of the connection. */

import { lostFailure, tooLargeFailure, timeoutFailure } from './failures.js';
import { CALL_TIMEOUT_SECONDS, SLOW_CALL_TIMEOUT_SECONDS } from './page_api.js';

const MAX_BYTES = 16 * 1024 * 1024;

/**
 * @typedef {{
 *   text: string,
 *   isSent: boolean,
 *   resolve: (data: any) => void,
 *   reject: (failure: any) => void,
 *   timer: ReturnType<typeof setTimeout> | undefined,
 * }} PendingCall
 */

export class Calls {
  /** @type {Map<number, PendingCall>} */
  #pending = new Map();
  #lastId = 0;
  #isOpen = false;

  /** @param {import('./connection.js').Connection} connection */
  constructor(connection) {
    this.connection = connection;
  }

  /**
   * Send a call; it waits while there is no connection or the repository is being reopened.
   *
   * @param {{ call: string, fields?: object, key?: number }} message
   * @param {{ isFirst?: boolean, isHost?: boolean }} [options] `isFirst`: sent before all that waits
   * @returns {Promise<any>}
   */
  request(message, { isFirst = false, isHost = false } = {}) {
    const { refusal } = this.connection;
    if (refusal) return Promise.reject(refusal);
    this.#lastId += 1;
    const id = this.#lastId;
    const text = JSON.stringify({ id, ...message });
    if (isTooLarge(text)) return Promise.reject(tooLargeFailure(message.call));
    return new Promise((resolve, reject) => {
      const timer = isHost ? undefined : this.#timer(id, message.call);
      const waiting = { text, isSent: false, resolve, reject, timer };
      this.#pending.set(id, waiting);
      if (this.#isOpen || isFirst) this.#send(waiting);
    });
  }

  /** Everything that waits may be sent from now on. */
  open() {
    this.#isOpen = true;
    for (const waiting of this.#pending.values()) if (!waiting.isSent) this.#send(waiting);
  }

  /** The connection broke: what was sent is lost, what was not waits for the next one. */
  interrupt() {
    this.#isOpen = false;
    this.#fail(({ isSent }) => isSent, lostFailure());
  }

  /** @param {import('./failures.js').KernelFailure} reason there will be no connection */
  end(reason) {
    this.#isOpen = false;
    this.#fail(() => true, reason);
  }

  /** @param {{ id: number, data?: any, failure?: any }} answer */
  settle({ id, data, failure }) {
    const waiting = this.#pending.get(id);
    if (!waiting) return;
    this.#forget(id, waiting);
    if (failure) waiting.reject(failure);
    else waiting.resolve(data ?? undefined);
  }

  /** @param {PendingCall} waiting */
  #send(waiting) {
    waiting.isSent = true;
    this.connection.send(waiting.text);
  }

  /**
   * @param {number} id
   * @param {string} call
   */
  #timer(id, call) {
    const seconds = SLOW_CALL_TIMEOUT_SECONDS[call] ?? CALL_TIMEOUT_SECONDS;
    return setTimeout(
      () => this.settle({ id, failure: timeoutFailure(call, seconds) }),
      seconds * 1000,
    );
  }

  /**
   * @param {(waiting: PendingCall) => boolean} isMeant
   * @param {import('./failures.js').KernelFailure} reason
   */
  #fail(isMeant, reason) {
    for (const [id, waiting] of [...this.#pending]) {
      if (!isMeant(waiting)) continue;
      this.#forget(id, waiting);
      waiting.reject(reason);
    }
  }

  /**
   * @param {number} id
   * @param {PendingCall} waiting
   */
  #forget(id, { timer }) {
    clearTimeout(timer);
    this.#pending.delete(id);
  }
}

/** @param {string} text a character has at most three bytes */
function isTooLarge(text) {
  if (text.length * 3 <= MAX_BYTES) return false;
  return new TextEncoder().encode(text).length > MAX_BYTES;
}
