/** A repository that is open for one window, through every crash until it is closed. */

import { EventEmitter } from 'node:events';

import { converse } from './conversation.js';
import { Deferred, ignore } from './deferred.js';
import { MAIN_SESSION_ID } from './envelope.js';
import { KernelError, Reason } from './errors.js';
import { RestartPolicy } from './restarts.js';

/** @typedef {'opening' | 'prepared' | 'crashed' | 'lost' | 'closed'} SessionState */

/**
 * Events: `prepared`; `embeddingStatus` (message); `crashed` (reason): it is being opened again;
 * `lost` (reason): it is not, and only reopen() helps; `closed`.
 */
export class RepoSession extends EventEmitter {
  /** @type {SessionState} */
  #state = 'opening';
  #prepared = new Deferred();
  #policy;
  /** Whether an openRepo is pending; its reply then decides the state of the session. */
  #isOpening = false;
  #conversations = 0;
  /** @type {KernelError | null} */
  #lostReason = null;

  /**
   * @param {import('./request_client.js').RequestClient} exchange
   * @param {number} id
   * @param {string} repoName
   * @param {{
   *   owner?: unknown,
   *   folder?: string,
   *   restarts?: ConstructorParameters<typeof RestartPolicy>[0],
   * }} [more] `owner`: whose session it is, say a window; the bridge only keeps it; `folder`: whose
   *   repository it is, instead of a name
   */
  constructor(exchange, id, repoName, { owner, folder, restarts } = {}) {
    super();
    this.exchange = exchange;
    this.id = id;
    this.repoName = repoName;
    this.owner = owner;
    this.folder = folder;
    this.path = '';
    this.#policy = new RestartPolicy(restarts);
  }

  get state() {
    return this.#state;
  }

  /** Whether a new run of the kernel is all it lacks. */
  get needsKernel() {
    const lostCode = this.#state === 'lost' ? this.#lostReason?.code : '';
    return this.#state === 'crashed' || lostCode === Reason.KERNEL_GAVE_UP;
  }

  /** Resolves when the session answers; rejects when it is lost or closed. */
  prepared() {
    return this.#prepared.promise;
  }

  /**
   * @param {string} type
   * @param {object} [fields]
   * @param {import('./request_client.js').RequestOptions} [options]
   */
  request(type, fields, options) {
    if (this.#state === 'closed') return Promise.reject(closedError());
    return this.exchange.request(this.id, type, fields, options);
  }

  /**
   * @param {import('./conversation.js').Question} question
   * @param {import('./conversation.js').ConverseOptions} [options]
   */
  async *converse(question, options) {
    this.#conversations += 1;
    try {
      yield* converse(this.exchange, this.id, question, options);
    } finally {
      this.#conversations -= 1;
    }
  }

  /** Whether an answer is being written. */
  get isAnswering() {
    return this.#conversations > 0;
  }

  /** Open it, for the first time or again; rejects with the kernel's reason. */
  async reopen() {
    if (this.#state === 'closed') throw closedError();
    if (this.#state !== 'opening') this.#prepared = new Deferred();
    this.#state = 'opening';
    this.#isOpening = true;
    const [type, what] = this.folder
      ? ['openFolder', { path: this.folder }]
      : ['openRepo', { repoName: this.repoName }];
    const fields = { ...what, sessionId: this.id };
    try {
      const data = await this.exchange.request(MAIN_SESSION_ID, type, fields);
      this.#isOpening = false;
      this.repoName = data.repoName;
      this.path = data.path;
    } catch (error) {
      this.#isOpening = false;
      const reason = /** @type {KernelError} */ (error);
      if (reason.code === Reason.KERNEL_CRASHED) this.markInterrupted(reason);
      else this.markLost(reason);
      throw reason;
    }
  }

  /** Close it; a session that is gone already counts as closed. */
  async close() {
    if (this.#state === 'closed') return;
    this.markClosed(closedError());
    try {
      await this.exchange.request(MAIN_SESSION_ID, 'closeRepo', { sessionId: this.id });
    } catch (error) {
      const { code } = /** @type {KernelError} */ (error);
      const isGone = code === 'SESSION_NOT_FOUND' || code in Reason;
      if (!isGone) throw error;
    }
  }

  /**
   * Mark it closed and fail its pending requests.
   *
   * @param {KernelError} reason
   */
  markClosed(reason) {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#prepared.reject(reason);
    this.exchange.cancelRequests(this.id, reason);
    this.emit('closed');
  }

  /**
   * What the kernel says to this session's window.
   *
   * @param {{ type: string, [field: string]: any }} message
   */
  onMessage(message) {
    if (message.type === 'embeddingStatus') this.emit('embeddingStatus', message);
    if (message.type === 'sessionPrepared' && this.#state === 'opening') {
      this.#state = 'prepared';
      this.path = message.path;
      this.#policy.markRunning();
      this.#prepared.resolve();
      this.emit('prepared');
    }
    if (message.type === 'sessionCrashed') {
      const reason = new KernelError('SESSION_NOT_FOUND', String(message.error));
      this.#onCrash(reason);
    }
  }

  /**
   * The kernel is down, and this session with it; the bridge reopens it in the next run.
   *
   * @param {KernelError} reason
   */
  markInterrupted(reason) {
    if (this.#state === 'closed' || this.#state === 'lost' || this.#isOpening) return;
    if (this.#state === 'prepared') this.#prepared = new Deferred();
    this.#state = 'crashed';
    this.emit('crashed', reason);
  }

  /** @param {KernelError} reason */
  markLost(reason) {
    if (this.#state === 'closed' || this.#state === 'lost') return;
    this.#state = 'lost';
    this.#lostReason = reason;
    this.#prepared.reject(reason);
    this.emit('lost', reason);
  }

  /**
   * Open it again at once, a few times at most; the kernel has freed its id.
   *
   * @param {KernelError} reason
   */
  #onCrash(reason) {
    if (this.#state === 'closed') return;
    this.exchange.cancelRequests(this.id, reason);
    if (this.#policy.nextDelay() === null) {
      this.markLost(reason);
      return;
    }
    this.markInterrupted(reason);
    this.reopen().catch(ignore); // listeners get `lost`
  }
}

function closedError() {
  return new KernelError(Reason.SESSION_CLOSED, 'The repository was closed in this window.');
}
