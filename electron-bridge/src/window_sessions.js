/** Which sessions each window has: the one that is shown, and those that it showed before. */

import { ignore } from './deferred.js';
import { KernelError, Reason } from './errors.js';
import { MAX_REPOSITORIES } from './page_api.js';

/** @typedef {import('./repo_session.js').RepoSession} RepoSession */

export class WindowSessions {
  /** The one that is shown. @type {Map<unknown, RepoSession>} */
  #current = new Map();
  /** All of a window, the one that was shown last at the end. @type {Map<unknown, RepoSession[]>} */
  #open = new Map();
  /** @type {Map<unknown, symbol>} The latest request of a window; an older one is out of date. */
  #latestRequests = new Map();
  /** @type {Map<unknown, Promise<unknown>>} What is being opened for a window. */
  #opening = new Map();

  /** @param {import('./bridge.js').KernelBridge} bridge */
  constructor(bridge) {
    this.bridge = bridge;
  }

  /**
   * Open a repository for a window. A page that was loaded again, or comes back to a repository,
   * gets the session that it had.
   *
   * @param {unknown} owner
   * @param {string} repoName
   * @returns {Promise<{ repoName: string, path: string, state: string }>}
   */
  open(owner, repoName) {
    const opening = this.#openOne(owner, repoName);
    this.#opening.set(owner, opening);
    const forget = () => {
      if (this.#opening.get(owner) === opening) this.#opening.delete(owner);
    };
    opening.then(forget, forget);
    return opening;
  }

  /**
   * @param {unknown} owner
   * @param {string} repoName
   */
  async #openOne(owner, repoName) {
    const request = Symbol(repoName);
    this.#latestRequests.set(owner, request);
    this.#current.delete(owner);
    const before = this.#listOpen(owner).find((session) => session.repoName === repoName);
    if (before) {
      this.#show(owner, before);
      if (before.state === 'lost') await before.reopen();
      return describe(before);
    }
    const session = await this.bridge.openRepo(repoName, { owner });
    if (this.#latestRequests.get(owner) !== request) {
      await session.close(); // the window was closed meanwhile, or wants another one
      throw new KernelError(Reason.SESSION_CLOSED, 'The window wants another repository by now.');
    }
    session.once('closed', () => this.#forget(owner, session));
    this.#show(owner, session);
    await this.#closeOldest(owner);
    return describe(session);
  }

  /**
   * The session that a window shows; one that is being opened is waited for. Rejects if there is
   * none.
   *
   * @param {unknown} owner
   * @returns {Promise<RepoSession>}
   */
  async get(owner) {
    await this.#opening.get(owner)?.catch(ignore);
    const session = this.#current.get(owner);
    if (session) return session;
    throw new KernelError('SESSION_NOT_FOUND', 'This window has no repository open.');
  }

  /**
   * The session that a window shows, if there is one already.
   *
   * @param {unknown} owner
   */
  find(owner) {
    return this.#current.get(owner);
  }

  /** @param {unknown} owner closes what it shows */
  async close(owner) {
    this.#latestRequests.delete(owner);
    await this.#current.get(owner)?.close();
  }

  /** @param {unknown} owner a window that is gone */
  async closeAll(owner) {
    this.#latestRequests.delete(owner);
    await Promise.all(this.#listOpen(owner).map((session) => session.close()));
  }

  /**
   * @param {unknown} owner
   * @param {RepoSession} session
   */
  #show(owner, session) {
    const others = this.#listOpen(owner).filter((one) => one !== session);
    this.#open.set(owner, [...others, session]);
    this.#current.set(owner, session);
  }

  /**
   * What was not shown for longest is closed, unless an answer is still being written there.
   *
   * @param {unknown} owner
   */
  async #closeOldest(owner) {
    const sessions = this.#listOpen(owner);
    const idle = sessions.slice(0, -1).filter(({ isAnswering }) => !isAnswering);
    await Promise.all(
      idle
        .slice(0, Math.max(0, sessions.length - MAX_REPOSITORIES))
        .map((session) => session.close()),
    );
  }

  /** @param {unknown} owner */
  #listOpen(owner) {
    return this.#open.get(owner) ?? [];
  }

  /**
   * @param {unknown} owner
   * @param {RepoSession} session
   */
  #forget(owner, session) {
    const others = this.#listOpen(owner).filter((one) => one !== session);
    if (others.length > 0) this.#open.set(owner, others);
    else this.#open.delete(owner);
    if (this.#current.get(owner) === session) this.#current.delete(owner);
  }
}

/** @param {RepoSession} session */
function describe({ repoName, path, state }) {
  return { repoName, path, state };
}
