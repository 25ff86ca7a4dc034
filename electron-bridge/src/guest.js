/** One window that may use the kernel: what it may ask, and what it is told. */

import { Deferred } from './deferred.js';
import { KernelError, Reason } from './errors.js';
import { CHANNELS, MAX_CONVERSATIONS } from './page_api.js';
import { StatusBatch } from './status_batch.js';

/** @typedef {{ controller: AbortController, read: Deferred }} Talk */

export class Guest {
  /** @type {Map<number, Talk>} */
  #talks = new Map();
  #isGone = false;

  /**
   * @param {any} contents the window's webContents
   * @param {{ page: string, calls: readonly string[] }} rights
   */
  constructor(contents, { page, calls }) {
    this.contents = contents;
    this.page = page;
    this.calls = new Set(calls);
    this.statuses = new StatusBatch((items) => this.tell({ type: 'embeddingStatus', items }));
  }

  /** @param {{ type: string, [field: string]: any }} event */
  tell(event) {
    this.#send(CHANNELS.EVENT, event);
  }

  /**
   * Pass a conversation on, part by part: the next one when the page has taken the last.
   *
   * @param {number} key the page's name for it
   * @param {import('./repo_session.js').RepoSession} session
   * @param {import('./conversation.js').Question} question
   */
  begin(key, session, question) {
    if (this.#talks.has(key) || this.#talks.size >= MAX_CONVERSATIONS) {
      throw new KernelError(Reason.FORBIDDEN, 'Too many conversations at a time.');
    }
    const talk = { controller: new AbortController(), read: new Deferred() };
    this.#talks.set(key, talk);
    this.#pass(key, talk, session.converse(question, { signal: talk.controller.signal }));
  }

  /** @param {number} key */
  stop(key) {
    this.#talks.get(key)?.controller.abort();
  }

  /** @param {number} key the page has taken a part */
  read(key) {
    this.#talks.get(key)?.read.resolve();
  }

  /** The page was loaded anew, or crashed: nobody reads its conversations any more. */
  reset() {
    for (const talk of this.#talks.values()) {
      talk.controller.abort();
      talk.read.resolve();
    }
    this.#talks.clear();
  }

  /** The window is gone. */
  leave() {
    this.#isGone = true;
    this.reset();
    this.statuses.clearTimer();
  }

  /**
   * @param {number} key
   * @param {Talk} talk
   * @param {AsyncIterable<object>} parts
   */
  async #pass(key, talk, parts) {
    let failure;
    try {
      for await (const part of parts) {
        if (this.#talks.get(key) !== talk) return;
        talk.read = new Deferred();
        this.#send(CHANNELS.PART, { key, part });
        await talk.read.promise;
      }
    } catch (error) {
      failure = plainFailure(error);
    }
    if (this.#talks.get(key) !== talk) return;
    this.#talks.delete(key);
    this.#send(CHANNELS.PART, { key, isEnd: true, failure });
  }

  /**
   * @param {string} channel
   * @param {object} payload
   */
  #send(channel, payload) {
    if (!this.#isGone && !this.contents.isDestroyed()) this.contents.send(channel, payload);
  }
}

/**
 * An error as a page may see it: classes do not survive the way there.
 *
 * @param {unknown} error
 */
export function plainFailure(error) {
  if (!(error instanceof KernelError)) {
    return {
      name: 'KernelError',
      code: 'UNKNOW_ERROR',
      message: 'The app failed; its log says why.',
    };
  }
  return error.done === undefined ? error.toJSON() : { ...error.toJSON(), done: error.done };
}
