/** Which turns are at work in this repository: agents that the kernel knows, answers to this window. */

import { kernel } from '../../common/kernel.js';
import { setRunning } from '../../common/running.js';

/** @typedef {{ conversation: number, topic: string }} Turn */

/** While something is at work; nothing tells a window that an agent of another one has ended. */
const INTERVAL_MS = 3_000;

export class RunningWatch {
  /** @type {Turn[]} */
  turns = [];
  /** @type {Turn[]} */
  #agents = [];
  /** @type {Turn[]} */
  #own = [];
  /** Conversations whose turn this window has seen end, which an older list may still name. */
  #ended = new Set();
  /** @type {Set<() => void>} */
  #listeners = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #wasPrepared = false;

  /** @param {import('./session.js').Session} session */
  constructor(session) {
    this.session = session;
    session.onChange(() => {
      if (session.isPrepared && !this.#wasPrepared) this.refresh();
      this.#wasPrepared = session.isPrepared;
    });
    globalThis.addEventListener('focus', this.refresh);
  }

  /** @param {() => void} listener called after each change */
  onChange(listener) {
    this.#listeners.add(listener);
  }

  /**
   * The turns whose answer this window waits for.
   *
   * @param {Turn[]} turns
   */
  setOwn(turns) {
    const still = new Set(turns.map(({ conversation }) => conversation));
    for (const { conversation } of this.#own) {
      if (!still.has(conversation)) this.#ended.add(conversation);
    }
    this.#own = turns;
    this.#combine();
  }

  refresh = async () => {
    clearTimeout(this.#timer);
    if (!this.session.isPrepared) return;
    this.#ended.clear();
    try {
      const { running = [] } = await kernel.getConversations();
      this.#agents = running.map(({ conversationId, query }) => ({
        conversation: conversationId,
        topic: query,
      }));
      this.#combine();
    } catch {
      // the banner says what is wrong with the kernel
    }
    if (this.turns.length > 0) this.#timer = setTimeout(this.refresh, INTERVAL_MS);
  };

  /** The repository is gone. */
  end() {
    clearTimeout(this.#timer);
    globalThis.removeEventListener('focus', this.refresh);
    setRunning(this.session.repoName, []);
  }

  #combine() {
    const before = JSON.stringify(this.turns);
    const own = new Set(this.#own.map(({ conversation }) => conversation));
    const others = this.#agents.filter(
      ({ conversation }) => !own.has(conversation) && !this.#ended.has(conversation),
    );
    this.turns = [...this.#own, ...others];
    if (JSON.stringify(this.turns) === before) return;
    setRunning(this.session.repoName, this.turns);
    for (const listener of this.#listeners) listener();
  }
}
