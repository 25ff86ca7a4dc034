/**
 * Parts of a conversation that were not read yet.
 *
 * The pipe cannot be paused for one slow reader, since everybody shares it; so pieces of the answer
 * that wait are joined, and a message of an agent that has grown takes its own place. A reader that
 * is behind gets fewer and longer pieces of the same text.
 */

/** @typedef {{ type: string, content?: any, [field: string]: any }} Part */

export class PartQueue {
  /** @type {Part[]} */
  #parts = [];
  /** @type {Error | null} */
  #failure = null;
  /** @type {(() => void) | null} */
  #wake = null;

  get length() {
    return this.#parts.length;
  }

  /** @param {Part} part */
  push(part) {
    const last = this.#parts.at(-1);
    if (part.type === 'answer' && last?.type === 'answer') {
      this.#parts[this.#parts.length - 1] = { ...last, content: last.content + part.content };
    } else if (last && isSameMessage(last, part)) {
      this.#parts[this.#parts.length - 1] = part;
    } else {
      this.#parts.push(part);
    }
    this.#wake?.();
  }

  /**
   * The reader gets this after the parts that are still queued.
   *
   * @param {Error} reason
   */
  fail(reason) {
    this.#failure ??= reason;
    this.#wake?.();
  }

  /** @returns {Promise<Part>} */
  async next() {
    for (;;) {
      const part = this.#parts.shift();
      if (part) return part;
      if (this.#failure) throw this.#failure;
      await new Promise((resolve) => {
        this.#wake = () => resolve(undefined);
      });
      this.#wake = null;
    }
  }
}

/**
 * Whether a part is the same message of an agent as the one before it, later.
 *
 * @param {Part} last
 * @param {Part} part
 */
function isSameMessage(last, part) {
  if (part.type !== 'message' || last.type !== 'message') return false;
  const id = part.content.meta?.id;
  return id !== undefined && id === last.content.meta?.id;
}
