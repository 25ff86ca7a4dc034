/** Asking and being answered: a request -> a line -> its replies, over whichever run there is. */

import { stoppedError } from './process_end.js';
import { MAIN_SESSION_ID, encodeRequest } from './envelope.js';
import { parseFailure, KernelError, Reason } from './errors.js';
import { CALL_TIMEOUT_MS, SLOW_CALL_TIMEOUT_MS } from './page_api.js';
import { PendingRequests } from './pending_requests.js';

/**
 * @typedef {{ timeoutMs?: number, signal?: AbortSignal, urgent?: boolean }} RequestOptions
 * @typedef {import('./pending_requests.js').Entry} Entry
 */

export class RequestClient {
  #pending = new PendingRequests();

  /** @param {import('./supervisor.js').KernelSupervisor} life */
  constructor(life) {
    this.life = life;
    life.on('down', (run, reason) => this.#pending.failAll((entry) => entry.run === run, reason));
    life.on('tooLong', (callbackId) => {
      const message = 'The answer is too large to be held in memory.';
      if (callbackId !== null) {
        this.#pending.fail(callbackId, new KernelError(Reason.TOO_LARGE, message));
      }
    });
  }

  /** The number of pending requests. */
  get size() {
    return this.#pending.size;
  }

  /**
   * @param {import('./envelope.js').Envelope} reply
   * @returns {boolean} false if no request is pending for it
   */
  settle(reply) {
    return this.#pending.settle(reply);
  }

  /**
   * The data of the one reply to a request.
   *
   * @param {number} sessionId
   * @param {string} type
   * @param {object} [fields]
   * @param {RequestOptions} [options]
   * @returns {Promise<any>}
   */
  request(sessionId, type, fields = {}, options = {}) {
    return new Promise((resolve, reject) => {
      this.openStream(sessionId, type, fields, options, {
        onReply: ({ status, data }) => {
          const failure = parseFailure(status);
          if (failure) reject(failure);
          else resolve(data);
          return true;
        },
        onFail: reject,
      });
    });
  }

  /**
   * Send a request that may have many replies.
   *
   * @param {number} sessionId
   * @param {string} type
   * @param {object} fields
   * @param {RequestOptions} options
   * @param {Pick<Entry, 'onReply' | 'onFail'>} listener
   * @returns {() => void} forget it: further replies are not wanted
   */
  openStream(sessionId, type, fields, { timeoutMs = timeoutOf(type), signal, urgent }, listener) {
    if (signal?.aborted) {
      listener.onFail(new KernelError(Reason.ABORTED, `${type} was aborted.`));
      return () => {};
    }
    const entry = this.#pending.add({ type, sessionId, timeoutMs, signal, ...listener });
    const fail = (/** @type {unknown} */ error) => {
      const isStopping = this.life.state === 'stopping'; // then a broken pipe is no crash
      this.#pending.fail(entry.id, isStopping ? stoppedError() : asKernelError(error));
    };
    try {
      const line = encodeRequest(sessionId, entry.id, type, fields);
      const post = (/** @type {import('./kernel_process.js').KernelProcess} */ run) => {
        if (!this.#pending.has(entry.id)) return; // its time was up before there was a kernel
        entry.run = run;
        run.send(line, { urgent }).catch(fail);
      };
      if (this.life.current) post(this.life.current);
      else this.life.waitUntilRunning().then(post, fail);
    } catch (error) {
      fail(error);
    }
    return () => this.#pending.forget(entry.id);
  }

  /**
   * Fail the pending requests to a session.
   *
   * @param {number} sessionId
   * @param {KernelError} reason
   */
  cancelRequests(sessionId, reason) {
    if (sessionId === MAIN_SESSION_ID) return;
    this.#pending.failAll((entry) => entry.sessionId === sessionId, reason);
  }
}

/** @param {string} type */
function timeoutOf(type) {
  return /** @type {Record<string, number>} */ (SLOW_CALL_TIMEOUT_MS)[type] ?? CALL_TIMEOUT_MS;
}

/** @param {unknown} error */
function asKernelError(error) {
  if (error instanceof KernelError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new KernelError('WRONG_PARAM', `The request cannot be sent: ${why}`, { cause: error });
}
