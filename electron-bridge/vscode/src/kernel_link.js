/** One client of the shared kernel for all folders of a window, through the bridge. */

import { KernelBridge, KernelError, locateUserData, Reason } from '../../src/index.js';

/** @typedef {import('../../index.d.ts').RepoSession} RepoSession */
/** @typedef {import('../../index.d.ts').KernelBridge} Bridge */
/** @typedef {import('../../types/protocol.d.ts').SearchResult} SearchResult */
/** @typedef {SearchResult & { folder: string }} FoundPlace `folder` is the root of its repository */

/**
 * @typedef {object} LinkEvents
 * @property {(folder: string) => void} onIndexing files of this folder are being indexed
 * @property {(folder: string, reason: Error) => void} onLost its session is gone for good
 */

export class KernelLink {
  /** @type {Bridge | null} */
  #bridge = null;
  /** @type {Map<string, Promise<RepoSession>>} */
  #sessions = new Map();
  #events;
  #isOver = false;

  /**
   * @param {() => string[] | null} locate the command that runs codekernel
   * @param {LinkEvents} events
   * @param {Record<string, string | undefined>} [environ]
   */
  constructor(locate, events, environ = process.env) {
    this.locate = locate;
    this.environ = environ;
    this.#events = events;
  }

  get userData() {
    return locateUserData({ environ: this.environ });
  }

  get logFile() {
    return this.#bridge?.log.file;
  }

  /**
   * The session of a folder, which is opened by the first who asks.
   *
   * @param {string} folder
   * @returns {Promise<RepoSession>}
   */
  open(folder) {
    const known = this.#sessions.get(folder);
    if (known) return known;
    const opening = this.#open(folder);
    this.#sessions.set(folder, opening);
    opening.catch(() => this.#forget(folder, opening));
    return opening;
  }

  /**
   * End the session of a folder that is no longer part of the window.
   *
   * @param {string} folder
   */
  async close(folder) {
    const opening = this.#sessions.get(folder);
    this.#sessions.delete(folder);
    const session = await opening?.catch(() => undefined);
    await session?.close();
  }

  /** Leave for good: what asks from now on starts nothing. */
  async end() {
    this.#isOver = true;
    await this.stop();
  }

  /** End this client; the kernel goes on for others, and the next request connects again. */
  async stop() {
    const bridge = this.#bridge;
    this.#bridge = null;
    this.#sessions.clear();
    await bridge?.stop();
  }

  /**
   * The best places of all folders: the first of each, then the second of each, ...
   *
   * @param {readonly string[]} folders
   * @param {string} query
   * @param {{ limit: number, accuracy?: boolean }} options
   * @returns {Promise<{ results: FoundPlace[], isComplete: boolean }>}
   */
  async search(folders, query, { limit, accuracy = false }) {
    const replies = await Promise.all(
      folders.map(async (folder) => {
        const session = await this.open(folder);
        const reply = await session.request('search', { query, limit, accuracy });
        const results = reply.results.map((result) => ({ ...result, folder: session.path }));
        return { results, isComplete: reply.isComplete !== false };
      }),
    );
    const results = interleave(replies.map((reply) => reply.results)).slice(0, limit);
    return { results, isComplete: replies.every(({ isComplete }) => isComplete) };
  }

  /** @returns {Promise<string[]>} the names of the chat models in settings.json */
  async listModels() {
    const { modelList } = await (await this.#running()).request('getGenerationModels');
    return modelList.map(({ name }) => name);
  }

  /** @param {string} folder */
  async #open(folder) {
    const bridge = await this.#running();
    const session = await bridge.openFolder(folder);
    session.on('embeddingStatus', () => this.#events.onIndexing(folder));
    session.on('prepared', () => this.#events.onIndexing(folder));
    session.on('lost', (reason) => {
      this.#sessions.delete(folder);
      this.#events.onLost(folder, reason);
    });
    await session.prepared();
    return session;
  }

  /** @returns {Promise<Bridge>} */
  async #running() {
    if (this.#isOver) throw new KernelError(Reason.KERNEL_STOPPED, 'The window is closing.');
    const bridge = this.#bridge ?? this.#createBridge();
    this.#bridge = bridge;
    await bridge.start();
    return bridge;
  }

  /** @returns {Bridge} with the types that the package declares */
  #createBridge() {
    const command = this.locate();
    if (!command) {
      throw new KernelError(
        Reason.KERNEL_NOT_FOUND,
        'codekernel was not found. Install it, or say in the settings where it is.',
      );
    }
    const options = { userData: this.userData, environ: this.environ };
    const bridge = new KernelBridge({ ...options, command: [...command, 'serve'] });
    return /** @type {Bridge} */ (/** @type {unknown} */ (bridge));
  }

  /**
   * @param {string} folder
   * @param {Promise<RepoSession>} opening
   */
  #forget(folder, opening) {
    if (this.#sessions.get(folder) === opening) this.#sessions.delete(folder);
  }
}

/**
 * @template Item
 * @param {Item[][]} lists
 * @returns {Item[]}
 */
export function interleave(lists) {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  const places = Array.from({ length: longest }, (_, place) => place);
  return places.flatMap((place) => lists.flatMap((list) => list.slice(place, place + 1)));
}
