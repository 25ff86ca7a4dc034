/**
 * Messages that the hub does not have yet.
 *
 * Each is kept in the storage of the page under its localId until the hub has it, and sent again
 * after a reload or a broken connection; the hub takes a localId once.
 */

import { sessionPath } from '../hub/hub_client.js';
import { HubFailure } from '../hub/hub_failure.js';

const PREFIX = 'codekernel.hub.outbox.';

/** While the hub answers and cannot take a message; a new connection sends it at once. */
const RETRY_MS = 10_000;

/**
 * @typedef {object} OutgoingMessage
 * @property {string} localId
 * @property {string} sessionId
 * @property {string} text
 * @property {number} createdAt
 * @property {'waiting' | 'sent' | 'refused'} state `sent`: it comes back by an event
 * @property {unknown} [failure] why it was refused
 */

export class Outbox {
  /** @type {Map<string, OutgoingMessage>} */
  #messages = new Map();
  #isSending = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #client;
  #changed;
  #storage;

  /**
   * @param {{ post: (path: string, body: object) => Promise<unknown> }} client
   * @param {() => void} changed
   * @param {Storage} [storage]
   */
  constructor(client, changed, storage = localStorage) {
    this.#client = client;
    this.#changed = changed;
    this.#storage = storage;
    for (const message of readStored(storage)) this.#messages.set(message.localId, message);
  }

  /**
   * @param {string} sessionId
   * @returns {OutgoingMessage[]} the oldest first
   */
  list(sessionId) {
    return [...this.#messages.values()].filter((each) => each.sessionId === sessionId);
  }

  /**
   * @param {string} sessionId
   * @param {string} text
   */
  add(sessionId, text) {
    const localId = crypto.randomUUID?.() ?? makeId();
    this.#keep({ localId, sessionId, text, createdAt: Date.now(), state: 'waiting' });
    return this.flush();
  }

  /** Send what waits, in the order in which it was written. */
  async flush() {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      for (;;) {
        const next = [...this.#messages.values()].find(({ state }) => state === 'waiting');
        if (!next || !(await this.#send(next))) return;
      }
    } finally {
      this.#isSending = false;
      this.#changed();
    }
  }

  /** @param {string} localId try one again that was refused */
  retry(localId) {
    const message = this.#messages.get(localId);
    if (message) this.#keep({ ...message, state: 'waiting' });
    return this.flush();
  }

  /** @param {string} sessionId it can be used again */
  retryAll(sessionId) {
    for (const message of this.list(sessionId)) {
      if (message.state === 'refused') this.#keep({ ...message, state: 'waiting' });
    }
    return this.flush();
  }

  /** @param {string} localId the hub has it, or it is not to be sent */
  remove(localId) {
    if (!this.#messages.delete(localId)) return;
    this.#storage.removeItem(PREFIX + localId);
    this.#changed();
  }

  /**
   * @param {OutgoingMessage} message
   * @returns {Promise<boolean>} whether the next one may be tried
   */
  async #send(message) {
    const { sessionId, text, localId } = message;
    try {
      await this.#client.post(sessionPath(sessionId, 'messages'), { text, localId });
    } catch (failure) {
      if (!(failure instanceof HubFailure) || failure.isTemporary || failure.status === 401) {
        this.#retryLater();
        return false;
      }
      this.#keep({ ...message, state: 'refused', failure });
      return true;
    }
    if (this.#messages.has(localId)) {
      this.#messages.set(localId, { ...message, state: 'sent' });
      this.#storage.removeItem(PREFIX + localId);
      this.#changed();
    }
    return true;
  }

  #retryLater() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), RETRY_MS);
    /** @type {any} */ (this.#timer).unref?.(); // in tests
  }

  /** @param {OutgoingMessage} message */
  #keep(message) {
    const { failure: _, ...stored } = message;
    this.#messages.set(message.localId, message);
    try {
      this.#storage.setItem(PREFIX + message.localId, JSON.stringify(stored));
    } catch {
      // full: it is kept as long as the page is open
    }
    this.#changed();
  }
}

/**
 * @param {Storage} storage
 * @returns {OutgoingMessage[]}
 */
function readStored(storage) {
  const names = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? '');
  return names
    .filter((name) => name.startsWith(PREFIX))
    .flatMap((name) => {
      try {
        const { localId, sessionId, text, createdAt } = JSON.parse(storage.getItem(name) ?? '');
        const isWhole = [localId, sessionId, text].every((each) => typeof each === 'string');
        return isWhole
          ? [{ localId, sessionId, text, createdAt, state: /** @type {const} */ ('waiting') }]
          : [];
      } catch {
        return [];
      }
    })
    .sort((one, other) => one.createdAt - other.createdAt);
}

/** A random id where `crypto.randomUUID` is missing: on pages without TLS. */
function makeId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
