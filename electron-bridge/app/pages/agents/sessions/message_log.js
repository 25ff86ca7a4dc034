/**
 * The messages of one session that the page has. Pure.
 *
 * They are known by their ids, so that one that comes twice is there once. A user's message waits
 * until the agent takes it; it then stands where that happened.
 */

/**
 * @typedef {object} LoggedMessage
 * @property {string} id
 * @property {number} seq
 * @property {string | null} localId
 * @property {any} content the envelope
 * @property {number} createdAt
 * @property {number | null} invokedAt null while it waits
 */

export class MessageLog {
  /** Whether there are earlier ones than the page has. */
  hasEarlier = false;
  isLoaded = false;
  epoch = 0;
  /** The first of those that are there without a gap. */
  firstSeq = 0;
  /** @type {Map<string, LoggedMessage>} */
  #messages = new Map();
  /** @type {Map<string, LoggedMessage>} those that are not complete */
  #growing = new Map();

  /** @returns {LoggedMessage[]} in the order in which the agent saw them, without those that wait */
  get shown() {
    return [...this.#messages.values()]
      .filter(({ invokedAt }) => invokedAt !== null)
      .sort((one, other) => position(one) - position(other) || one.seq - other.seq);
  }

  /** @returns {LoggedMessage[]} */
  get queued() {
    return [...this.#messages.values()]
      .filter(({ invokedAt }) => invokedAt === null)
      .sort((one, other) => one.seq - other.seq);
  }

  /** @returns {LoggedMessage[]} */
  get growing() {
    return [...this.#growing.values()];
  }

  /** @param {string} localId */
  has(localId) {
    return [...this.#messages.values()].some((each) => each.localId === localId);
  }

  /**
   * The newest page of the hub. If it does not join what is there, that is forgotten.
   *
   * @param {{ messages: LoggedMessage[], page: any }} answer
   */
  addLatest({ messages, page }) {
    const first = Number(page.nextBeforeSeq) || 0;
    const lastKnown = Math.max(0, ...[...this.#messages.values()].map(({ seq }) => seq));
    const isJoined = this.isLoaded && page.epoch === this.epoch && first <= lastKnown + 1;
    if (!isJoined) this.#messages.clear();
    if (!isJoined || first <= this.firstSeq) {
      this.firstSeq = first;
      this.hasEarlier = Boolean(page.hasMore);
    }
    // One that waited and is not there any longer was taken back.
    const ids = new Set(messages.map(({ id }) => id));
    for (const { id } of this.queued) if (!ids.has(id)) this.#messages.delete(id);
    this.epoch = page.epoch;
    this.isLoaded = true;
    for (const each of messages) this.receive(each);
  }

  /** @param {{ messages: LoggedMessage[], page: any }} answer an earlier page */
  addEarlier({ messages, page }) {
    for (const each of messages) this.receive(each);
    this.firstSeq = Number(page.nextBeforeSeq) || this.firstSeq;
    this.hasEarlier = Boolean(page.hasMore);
  }

  /** @param {LoggedMessage} message */
  receive(message) {
    const known = this.#messages.get(message.id);
    this.#growing.delete(message.id);
    // A page that was read before the agent took the message does not bring it back.
    if (known && known.invokedAt !== null && message.invokedAt === null) return;
    this.#messages.set(message.id, message);
  }

  /** @param {LoggedMessage} message */
  grow(message) {
    if (!this.#messages.has(message.id)) this.#growing.set(message.id, message);
  }

  /** Nothing grows any more: the turn has ended, or events are missing. */
  endGrowing() {
    this.#growing.clear();
  }

  /**
   * @param {readonly string[]} localIds
   * @param {number} invokedAt
   */
  consume(localIds, invokedAt) {
    for (const message of this.queued) {
      if (message.localId && localIds.includes(message.localId)) {
        this.#messages.set(message.id, { ...message, invokedAt });
      }
    }
  }

  /** @param {string} messageId */
  remove(messageId) {
    for (const { id, localId } of this.queued) {
      if (id === messageId || localId === messageId) this.#messages.delete(id);
    }
  }

  /** History was changed: everything is read anew. */
  clear() {
    this.#messages.clear();
    this.#growing.clear();
    this.isLoaded = false;
  }
}

/** @param {LoggedMessage} message */
function position({ invokedAt, createdAt }) {
  return invokedAt ?? createdAt;
}
