/** Which window has which session: one each, found from either side. */

import { ignore } from './deferred.js';
import { KernelError, Reason } from './errors.js';

/** @typedef {import('./repo_session.js').RepoSession} RepoSession */

export class WindowSessions {
  /** @type {Map<unknown, RepoSession>} */
  #byOwner = new Map();
  /** @type {Map<unknown, symbol>} The latest request of a window; an older one is out of date. */
  #latestRequests = new Map();
  /** @type {Map<unknown, Promise<unknown>>} What is being opened for a window. */
  #opening = new Map();

  /** @param {import('./bridge.js').KernelBridge} bridge */
  constructor(bridge) {
    this.bridge = bridge;
  }

  /**
   * Open a repository for a window. A page that was loaded again gets the session that it had.
   *
   * @param {unknown} owner
   * @param {string} repoName
   * @returns {Promise<{ repoName: string, path: string, state: string }>}
   */
  open(owner, repoName) {
    const opening = this.#open(owner, repoName);
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
  async #open(owner, repoName) {
    const before = this.#byOwner.get(owner);
    if (before && before.repoName === repoName) {
      if (before.state === 'lost') await before.reopen();
      return describe(before);
    }
    const request = Symbol(repoName);
    this.#latestRequests.set(owner, request);
    this.#byOwner.delete(owner);
    await before?.close();
    const session = await this.bridge.openRepo(repoName, { owner });
    if (this.#latestRequests.get(owner) !== request) {
      await session.close(); // the window was closed meanwhile, or wants another one
      throw new KernelError(Reason.SESSION_CLOSED, 'The window wants another repository by now.');
    }
    this.#byOwner.set(owner, session);
    session.once('closed', () => {
      if (this.#byOwner.get(owner) === session) this.#byOwner.delete(owner);
    });
    return describe(session);
  }

  /**
   * The session of a window; one that is being opened is waited for. Rejects if there is none.
   *
   * @param {unknown} owner
   * @returns {Promise<RepoSession>}
   */
  async get(owner) {
    await this.#opening.get(owner)?.catch(ignore);
    const session = this.#byOwner.get(owner);
    if (session) return session;
    throw new KernelError('SESSION_NOT_FOUND', 'This window has no repository open.');
  }

  /** @param {unknown} owner */
  async close(owner) {
    const session = this.#byOwner.get(owner);
    this.#byOwner.delete(owner);
    this.#latestRequests.delete(owner);
    await session?.close();
  }
}

/** @param {RepoSession} session */
function describe({ repoName, path, state }) {
  return { repoName, path, state };
}
