/** One window as a client of the kernel: its calls, events and conversations. */

import { LEFT } from './conversation.js';
import { Deferred } from './deferred.js';
import { KernelError, Reason } from './errors.js';
import { CHANNELS, MAX_CONVERSATIONS } from './page_api.js';
import { StatusBatch } from './status_batch.js';

/** @typedef {{ controller: AbortController, partRead: Deferred }} OpenConversation */

export class WindowClient {
  /** @type {Map<number, OpenConversation>} */
  #conversations = new Map();
  #isGone = false;

  /**
   * @param {any} contents the window's webContents
   * @param {{ pages: readonly string[], calls: readonly string[] }} rights
   */
  constructor(contents, { pages, calls }) {
    this.contents = contents;
    this.pages = new Set(pages);
    this.calls = new Set(calls);
    this.statuses = new StatusBatch((items) => this.sendEvent({ type: 'embeddingStatus', items }));
  }

  /** @param {{ type: string, [field: string]: any }} event */
  sendEvent(event) {
    this.#send(CHANNELS.EVENT, event);
  }

  /**
   * Pass a conversation on, part by part: the next one when the page has taken the last.
   *
   * @param {number} key the page's name for it
   * @param {import('./repo_session.js').RepoSession} session
   * @param {import('./conversation.js').Question} question
   */
  startConversation(key, session, question) {
    if (this.#conversations.has(key) || this.#conversations.size >= MAX_CONVERSATIONS) {
      throw new KernelError(Reason.FORBIDDEN, 'Too many conversations at a time.');
    }
    const conversation = { controller: new AbortController(), partRead: new Deferred() };
    this.#conversations.set(key, conversation);
    this.#sendParts(
      key,
      conversation,
      session.converse(question, { signal: conversation.controller.signal }),
    );
  }

  /** @param {number} key */
  stopConversation(key) {
    this.#conversations.get(key)?.controller.abort();
  }

  /** @param {number} key the page has taken a part */
  onPartRead(key) {
    this.#conversations.get(key)?.partRead.resolve();
  }

  /** Follow none any more: the page was reloaded or has crashed. What is at work goes on. */
  stopConversations() {
    for (const conversation of this.#conversations.values()) {
      conversation.controller.abort(LEFT);
      conversation.partRead.resolve();
    }
    this.#conversations.clear();
  }

  /** The window is gone. */
  disconnect() {
    this.#isGone = true;
    this.stopConversations();
    this.statuses.clearTimer();
  }

  /**
   * @param {number} key
   * @param {OpenConversation} conversation
   * @param {AsyncIterable<object>} parts
   */
  async #sendParts(key, conversation, parts) {
    let failure;
    try {
      for await (const part of parts) {
        if (this.#conversations.get(key) !== conversation) return;
        conversation.partRead = new Deferred();
        this.#send(CHANNELS.PART, { key, part });
        await conversation.partRead.promise;
      }
    } catch (error) {
      failure = dumpFailure(error);
    }
    if (this.#conversations.get(key) !== conversation) return;
    this.#conversations.delete(key);
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
export function dumpFailure(error) {
  if (!(error instanceof KernelError)) {
    return {
      name: 'KernelError',
      code: 'UNKNOW_ERROR',
      message: 'The app failed; its log says why.',
    };
  }
  return error.done === undefined ? error.toJSON() : { ...error.toJSON(), done: error.done };
}
