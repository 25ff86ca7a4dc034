/**
 * The kernel as an Electron main process sees it: requests, sessions, events, one object.
 *
 * Events: `state` (state, reason or null), `sessionPrepared`, `embeddingStatus`, `sessionCrashed`,
 * `sessionLost` (each with session, then the message or the reason), `repoDeleted` (repoName),
 * `reposChanged` (after `request('watchRepos')`), `kernelServerCrashed` (message).
 */

import { EventEmitter } from 'node:events';
import path from 'node:path';

import { ignore } from './deferred.js';
import { encodeReply, MAIN_SESSION_ID } from './envelope.js';
import { KernelError, Reason } from './errors.js';
import { RequestClient } from './request_client.js';
import { KernelSupervisor } from './supervisor.js';
import { kernelEnvironment, locateKernel } from './locate.js';
import { RepoSession } from './repo_session.js';
import { RotatingLog } from './rotating_log.js';
import { KernelProcess } from './kernel_process.js';

/** These have methods of their own, because the bridge must know of them. */
const OWN_METHOD = {
  openRepo: 'openRepo()',
  openFolder: 'openFolder()',
  closeRepo: 'session.close()',
  stopAll: 'stop()',
};

/**
 * @typedef {{
 *   userData: string,
 *   command?: string[],
 *   resourcesPath?: string,
 *   project?: string,
 *   environ?: Record<string, string | undefined>,
 *   logFile?: string,
 *   restarts?: { maxRestarts?: number, delaysMs?: number[], stableAfterMs?: number },
 *   readyTimeoutMs?: number,
 *   stopTimeoutMs?: number,
 *   maxLineBytes?: number,
 *   queue?: { lines?: number, bytes?: number },
 * }} BridgeOptions
 */

export class KernelBridge extends EventEmitter {
  #supervisor;
  #client;
  /** @type {Map<number, RepoSession>} */
  #sessions = new Map();
  #nextSessionId = 1;

  /** @param {BridgeOptions} options */
  constructor(options) {
    super();
    const { userData, logFile = path.join(userData, 'logs', 'kernel-stderr.log') } = options;
    this.options = options;
    this.log = new RotatingLog(logFile);
    const env = kernelEnvironment(userData, options.environ);
    const spawn = () =>
      new KernelProcess(locateKernel(options), { ...options, env, log: this.log });
    this.#supervisor = new KernelSupervisor({ ...options, spawn });
    this.#client = new RequestClient(this.#supervisor);
    this.#supervisor.on('message', (envelope, run) => this.#handleMessage(envelope, run));
    this.#supervisor.on('up', () => this.#reopen());
    this.#supervisor.on('down', (_run, reason) => this.#interrupt(reason));
    this.#supervisor.on('state', (state, reason) => this.#onStateChange(state, reason));
  }

  get state() {
    return this.#supervisor.state;
  }

  /** The process of `codekernel serve`; the kernel behind it may serve other programs, too. */
  get pid() {
    return this.#supervisor.current?.pid;
  }

  /** Resolves when the kernel is ready. */
  start() {
    return this.#supervisor.start();
  }

  /**
   * End this client and its sessions: with `stopAll`, then by a signal if it takes too long. A kernel
   * that others share goes on.
   */
  async stop() {
    const ending = await this.#supervisor.stop();
    await this.log.flush();
    return ending;
  }

  /**
   * Ask the kernel itself. While it starts, or starts again, the request waits.
   *
   * @param {string} type
   * @param {object} [fields]
   * @param {import('./request_client.js').RequestOptions} [options]
   * @returns {Promise<any>} the data of its reply
   */
  async request(type, fields, options) {
    if (Object.hasOwn(OWN_METHOD, type)) {
      const instead = /** @type {Record<string, string>} */ (OWN_METHOD)[type];
      throw new KernelError(Reason.FORBIDDEN, `Use ${instead} instead of request('${type}').`);
    }
    const data = await this.#client.request(MAIN_SESSION_ID, type, fields, options);
    if (type === 'deleteRepo') this.#onRepoDeleted(/** @type {any} */ (fields).repoName);
    return data;
  }

  /**
   * Open a repository; the session may be used at once, requests wait until it is prepared.
   *
   * @param {string} repoName
   * @param {{ owner?: unknown }} [options] `owner`: whose session it is, say a window
   * @returns {Promise<RepoSession>}
   */
  openRepo(repoName, { owner } = {}) {
    return this.#open(repoName, { owner });
  }

  /**
   * Open the repository of a folder, which is registered if no program has done so yet.
   *
   * @param {string} folder an absolute path
   * @param {{ owner?: unknown }} [options]
   * @returns {Promise<RepoSession>}
   */
  openFolder(folder, { owner } = {}) {
    return this.#open('', { owner, folder });
  }

  /**
   * @param {string} repoName
   * @param {{ owner?: unknown, folder?: string }} more
   */
  async #open(repoName, more) {
    const id = this.#nextSessionId;
    const { restarts } = this.options;
    this.#nextSessionId += 1;
    const session = new RepoSession(this.#client, id, repoName, { ...more, restarts });
    this.#sessions.set(id, session);
    session.on('closed', () => this.#sessions.delete(id));
    session.on('prepared', () => this.emit('sessionPrepared', session));
    session.on('embeddingStatus', (message) => this.emit('embeddingStatus', session, message));
    session.on('crashed', (reason) => this.emit('sessionCrashed', session, reason));
    session.on('lost', (reason) => this.emit('sessionLost', session, reason));
    try {
      await session.reopen();
    } catch (error) {
      session.markClosed(/** @type {KernelError} */ (error));
      throw error;
    }
    return session;
  }

  /** @param {number} sessionId */
  session(sessionId) {
    return this.#sessions.get(sessionId);
  }

  get sessions() {
    return [...this.#sessions.values()];
  }

  /**
   * @param {import('./envelope.js').Envelope} envelope
   * @param {KernelProcess} run
   */
  #handleMessage(envelope, run) {
    if (envelope.isReply) {
      this.#settle(envelope);
      return;
    }
    const { sessionId, toMain, message } = envelope;
    const session = toMain ? undefined : this.#sessions.get(sessionId);
    if (message.type !== 'ready') {
      const answer = encodeReply(envelope, toMain || session !== undefined);
      if (answer) run.send(answer, { urgent: true }).catch(ignore);
    }
    if (session) session.onMessage(message);
    else if (message.type === 'kernelServerCrashed') this.emit('kernelServerCrashed', message);
    else if (message.type === 'reposChanged') this.emit('reposChanged');
  }

  /** @param {import('./envelope.js').Envelope} reply */
  #settle(reply) {
    if (this.#client.settle(reply) || reply.status?.code === 'SUCCESS') return;
    const { message, status } = reply;
    this.log.write(
      `[bridge] unexpected reply to ${message.type}: ${status?.code}: ${status?.message}`,
    );
  }

  /** The kernel has closed the sessions of a repository that it forgot. */
  #onRepoDeleted(/** @type {string} */ repoName) {
    const reason = new KernelError(Reason.SESSION_CLOSED, `${repoName} was deleted.`);
    for (const session of this.sessions)
      if (session.repoName === repoName) session.markClosed(reason);
    this.emit('repoDeleted', repoName);
  }

  #reopen() {
    for (const session of this.#sessions.values()) {
      if (session.needsKernel) session.reopen().catch(ignore); // reported by `lost`
    }
  }

  /** @param {KernelError} reason */
  #interrupt(reason) {
    if (reason.code === Reason.KERNEL_STOPPED) return;
    for (const session of this.#sessions.values()) session.markInterrupted(reason);
  }

  /**
   * @param {import('./supervisor.js').State} state
   * @param {KernelError | null} reason
   */
  #onStateChange(state, reason) {
    if (state === 'failed' && reason) for (const session of this.sessions) session.markLost(reason);
    if (state === 'stopped') {
      const stopped = new KernelError(Reason.KERNEL_STOPPED, 'The kernel was stopped.');
      for (const session of this.sessions) session.markClosed(stopped);
    }
    this.emit('state', state, reason);
  }
}
