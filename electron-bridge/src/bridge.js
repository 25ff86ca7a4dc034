/**
 * The kernel as an Electron main process sees it: requests, sessions, events, one object.
 *
 * Events: `state` (state, reason or null), `sessionPrepared`, `embeddingStatus`, `sessionCrashed`,
 * `sessionLost` (each with session, then the message or the reason), `repoDeleted` (repoName),
 * `kernelServerCrashed` (message).
 */

import { EventEmitter } from 'node:events';
import path from 'node:path';

import { ignore } from './deferred.js';
import { answerLine, MAIN_SESSION_ID } from './envelope.js';
import { KernelError, Reason } from './errors.js';
import { Exchange } from './exchange.js';
import { KernelLife } from './life.js';
import { kernelEnvironment, locateKernel } from './locate.js';
import { RepoSession } from './repo_session.js';
import { RotatingLog } from './rotating_log.js';
import { KernelRun } from './run.js';

/** These have methods of their own, because the bridge must know of them. */
const OWN_METHOD = { openRepo: 'openRepo()', closeRepo: 'session.close()', stopAll: 'stop()' };

/**
 * @typedef {{
 *   userData: string,
 *   command?: string[],
 *   resourcesPath?: string,
 *   project?: string,
 *   environ?: Record<string, string | undefined>,
 *   logFile?: string,
 *   restarts?: { most?: number, pausesMs?: number[], calmAfterMs?: number },
 *   readyWithinMs?: number,
 *   stopWithinMs?: number,
 *   longestLine?: number,
 *   queue?: { lines?: number, bytes?: number },
 * }} BridgeOptions
 */

export class KernelBridge extends EventEmitter {
  #life;
  #exchange;
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
    const spawn = () => new KernelRun(locateKernel(options), { ...options, env, log: this.log });
    this.#life = new KernelLife({ ...options, spawn });
    this.#exchange = new Exchange(this.#life);
    this.#life.on('message', (envelope, run) => this.#hear(envelope, run));
    this.#life.on('up', () => this.#reopen());
    this.#life.on('down', (_run, reason) => this.#interrupt(reason));
    this.#life.on('state', (state, reason) => this.#changed(state, reason));
  }

  get state() {
    return this.#life.state;
  }

  /** The kernel's process, while it runs. */
  get pid() {
    return this.#life.current?.pid;
  }

  /** Resolves when the kernel is ready. */
  start() {
    return this.#life.start();
  }

  /** Stop the kernel: asked first, killed if it does not go. Sessions are closed. */
  async stop() {
    const ending = await this.#life.stop();
    await this.log.flush();
    return ending;
  }

  /**
   * Ask the kernel itself. While it starts, or starts again, the request waits.
   *
   * @param {string} type
   * @param {object} [fields]
   * @param {import('./exchange.js').AskOptions} [options]
   * @returns {Promise<any>} the data of its reply
   */
  async request(type, fields, options) {
    if (Object.hasOwn(OWN_METHOD, type)) {
      const instead = /** @type {Record<string, string>} */ (OWN_METHOD)[type];
      throw new KernelError(Reason.FORBIDDEN, `Use ${instead} instead of request('${type}').`);
    }
    const data = await this.#exchange.ask(MAIN_SESSION_ID, type, fields, options);
    if (type === 'deleteRepo') this.#deleted(/** @type {any} */ (fields).repoName);
    return data;
  }

  /**
   * Open a repository; the session may be used at once, requests wait until it is prepared.
   *
   * @param {string} repoName
   * @param {{ owner?: unknown }} [options] `owner`: whose session it is, say a window
   * @returns {Promise<RepoSession>}
   */
  async openRepo(repoName, { owner } = {}) {
    const id = this.#nextSessionId;
    const { restarts } = this.options;
    this.#nextSessionId += 1;
    const session = new RepoSession(this.#exchange, id, repoName, { owner, restarts });
    this.#sessions.set(id, session);
    session.on('closed', () => this.#sessions.delete(id));
    session.on('prepared', () => this.emit('sessionPrepared', session));
    session.on('embeddingStatus', (message) => this.emit('embeddingStatus', session, message));
    session.on('crashed', (reason) => this.emit('sessionCrashed', session, reason));
    session.on('lost', (reason) => this.emit('sessionLost', session, reason));
    try {
      await session.reopen();
    } catch (error) {
      session.end(/** @type {KernelError} */ (error));
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
   * @param {KernelRun} run
   */
  #hear(envelope, run) {
    if (envelope.isReply) {
      this.#settle(envelope);
      return;
    }
    const { sessionId, toMain, message } = envelope;
    const session = toMain ? undefined : this.#sessions.get(sessionId);
    if (message.type !== 'ready') {
      const answer = answerLine(envelope, toMain || session !== undefined);
      if (answer) run.send(answer, { urgent: true }).catch(ignore);
    }
    if (session) session.hear(message);
    else if (message.type === 'kernelServerCrashed') this.emit('kernelServerCrashed', message);
  }

  /** @param {import('./envelope.js').Envelope} reply */
  #settle(reply) {
    if (this.#exchange.settle(reply) || reply.status?.code === 'SUCCESS') return;
    const { message, status } = reply;
    this.log.write(
      `[bridge] nobody waited for ${message.type}: ${status?.code}: ${status?.message}`,
    );
  }

  /** The kernel has closed the sessions of a repository that it forgot. */
  #deleted(/** @type {string} */ repoName) {
    const reason = new KernelError(Reason.SESSION_CLOSED, `${repoName} was deleted.`);
    for (const session of this.sessions) if (session.repoName === repoName) session.end(reason);
    this.emit('repoDeleted', repoName);
  }

  #reopen() {
    for (const session of this.#sessions.values()) {
      if (session.awaitsKernel) session.reopen().catch(ignore); // told by `lost`
    }
  }

  /** @param {KernelError} reason */
  #interrupt(reason) {
    if (reason.code === Reason.KERNEL_STOPPED) return;
    for (const session of this.#sessions.values()) session.interrupted(reason);
  }

  /**
   * @param {import('./life.js').State} state
   * @param {KernelError | null} reason
   */
  #changed(state, reason) {
    if (state === 'failed' && reason) for (const session of this.sessions) session.lose(reason);
    if (state === 'stopped') {
      const stopped = new KernelError(Reason.KERNEL_STOPPED, 'The kernel was stopped.');
      for (const session of this.sessions) session.end(stopped);
    }
    this.emit('state', state, reason);
  }
}
