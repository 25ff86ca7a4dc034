/** Running conversations; the host sends the next part when the page has read the last. */

/** @typedef {import('../../../window-kernel.js').WindowConversation} WindowTalk */
/** @typedef {{ onPart: (part: any) => void, resolve: () => void, reject: (f: any) => void }} OpenConversation */

export class Conversations {
  /** @type {Map<number, OpenConversation>} */
  #conversations = new Map();
  #lastKey = 0;

  /**
   * @param {import('./connection.js').Connection} connection
   * @param {import('./calls.js').Calls} calls
   */
  constructor(connection, calls) {
    this.connection = connection;
    this.calls = calls;
  }

  /**
   * @param {object} question
   * @param {(part: any) => void} onPart
   * @returns {WindowTalk}
   */
  start(question, onPart) {
    this.#lastKey += 1;
    const key = this.#lastKey;
    const finished = new Promise((resolve, reject) => {
      this.#conversations.set(key, { onPart, resolve: () => resolve(undefined), reject });
      this.calls.request({ call: 'converse', key, fields: question }).catch((failure) => {
        this.#conversations.delete(key);
        reject(failure);
      });
    });
    const stop = () => this.connection.send(JSON.stringify({ stop: key }));
    return { finished: /** @type {Promise<void>} */ (finished), stop };
  }

  /** @param {{ key: number, part?: any, isEnd?: boolean, failure?: any }} message */
  onMessage({ key, part, isEnd, failure }) {
    const conversation = this.#conversations.get(key);
    if (isEnd) {
      this.#conversations.delete(key);
      if (failure) conversation?.reject(failure);
      else conversation?.resolve();
      return;
    }
    try {
      conversation?.onPart(part);
    } finally {
      this.connection.send(JSON.stringify({ read: key })); // whatever the page made of it
    }
  }

  /** @param {import('./failures.js').KernelFailure} reason */
  end(reason) {
    const ended = [...this.#conversations.values()];
    this.#conversations.clear();
    for (const conversation of ended) conversation.reject(reason);
  }
}
