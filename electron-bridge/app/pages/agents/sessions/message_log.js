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
  /** @type {Map<string, number>} when the agent took a message, which may come later than that */
  #consumed = new Map();

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
    const isSame = !this.isLoaded || page.epoch === this.epoch;
    const isJoined = this.isLoaded && isSame && first <= lastKnown + 1;
    // What events brought while the page was on its way is newer than the page.
    if (!isJoined) this.#forget(({ seq }) => !isSame || seq < first);
    if (!isJoined || first <= this.firstSeq) {
      this.firstSeq = first;
      this.hasEarlier = Boolean(page.hasMore);
    }
    // One that waited and is not there any longer was taken back.
    const ids = new Set(messages.map(({ id }) => id));
    const head = Number(page.snapshotHeadSeq) || 0;
    this.#forget(({ id, seq, invokedAt }) => invokedAt === null && seq <= head && !ids.has(id));
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
    const invokedAt =
      message.invokedAt ?? known?.invokedAt ?? this.#consumed.get(message.localId ?? '') ?? null;
    this.#messages.set(message.id, { ...message, invokedAt });
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
    for (const localId of localIds) this.#consumed.set(localId, invokedAt);
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

  /** @param {(message: LoggedMessage) => boolean} isGone */
  #forget(isGone) {
    for (const message of this.#messages.values()) {
      if (isGone(message)) this.#messages.delete(message.id);
    }
  }
}

/** @param {LoggedMessage} message */
function position({ invokedAt, createdAt }) {
  return invokedAt ?? createdAt;
}
