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
  /** Whether an openRepo is under way; its outcome then decides what becomes of the session. */
  #isAsking = false;
  /** @type {KernelError | null} */
  #lostFor = null;

  /**
   * @param {import('./exchange.js').Exchange} exchange
   * @param {number} id
   * @param {string} repoName
   * @param {{ owner?: unknown, restarts?: ConstructorParameters<typeof RestartPolicy>[0] }} [more]
   *   `owner`: whose session it is, say a window; the bridge only keeps it
   */
  constructor(exchange, id, repoName, { owner, restarts } = {}) {
    super();
    this.exchange = exchange;
    this.id = id;
    this.repoName = repoName;
    this.owner = owner;
    this.path = '';
    this.#policy = new RestartPolicy(restarts);
  }

  get state() {
    return this.#state;
  }

  /** Whether a new run of the kernel is all it lacks. */
  get awaitsKernel() {
    const lostCode = this.#state === 'lost' ? this.#lostFor?.code : '';
    return this.#state === 'crashed' || lostCode === Reason.KERNEL_GAVE_UP;
  }

  /** Resolves when the session answers; rejects when it is lost or closed. */
  prepared() {
    return this.#prepared.promise;
  }

  /**
   * @param {string} type
   * @param {object} [fields]
   * @param {import('./exchange.js').AskOptions} [options]
   */
  request(type, fields, options) {
    if (this.#state === 'closed') return Promise.reject(closed());
    return this.exchange.ask(this.id, type, fields, options);
  }

  /**
   * @param {import('./conversation.js').Question} question
   * @param {import('./conversation.js').ConverseOptions} [options]
   */
  converse(question, options) {
    return converse(this.exchange, this.id, question, options);
  }

  /** Open it, for the first time or again; rejects with the kernel's reason. */
  async reopen() {
    if (this.#state === 'closed') throw closed();
    if (this.#state !== 'opening') this.#prepared = new Deferred();
    this.#state = 'opening';
    this.#isAsking = true;
    const fields = { repoName: this.repoName, sessionId: this.id };
    try {
      const data = await this.exchange.ask(MAIN_SESSION_ID, 'openRepo', fields);
      this.#isAsking = false;
      this.path = data.path;
    } catch (error) {
      this.#isAsking = false;
      const reason = /** @type {KernelError} */ (error);
      if (reason.code === Reason.KERNEL_CRASHED) this.interrupted(reason);
      else this.lose(reason);
      throw reason;
    }
  }

  /** Close it; a session that is gone already counts as closed. */
  async close() {
    if (this.#state === 'closed') return;
    this.end(closed());
    try {
      await this.exchange.ask(MAIN_SESSION_ID, 'closeRepo', { sessionId: this.id });
    } catch (error) {
      const { code } = /** @type {KernelError} */ (error);
      const isGone = code === 'SESSION_NOT_FOUND' || code in Reason;
      if (!isGone) throw error;
    }
  }

  /**
   * Nobody may use it any more.
   *
   * @param {KernelError} reason
   */
  end(reason) {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#prepared.reject(reason);
    this.exchange.abandon(this.id, reason);
    this.emit('closed');
  }

  /**
   * What the kernel says to this session's window.
   *
   * @param {{ type: string, [field: string]: any }} message
   */
  hear(message) {
    if (message.type === 'embeddingStatus') this.emit('embeddingStatus', message);
    if (message.type === 'sessionPrepared' && this.#state === 'opening') {
      this.#state = 'prepared';
      this.path = message.path;
      this.#policy.up();
      this.#prepared.resolve();
      this.emit('prepared');
    }
    if (message.type === 'sessionCrashed') {
      const reason = new KernelError('SESSION_NOT_FOUND', String(message.error));
      this.#crashed(reason);
    }
  }

  /**
   * The kernel is down, and this session with it; the bridge reopens it in the next run.
   *
   * @param {KernelError} reason
   */
  interrupted(reason) {
    if (this.#state === 'closed' || this.#state === 'lost' || this.#isAsking) return;
    if (this.#state === 'prepared') this.#prepared = new Deferred();
    this.#state = 'crashed';
    this.emit('crashed', reason);
  }

  /** @param {KernelError} reason */
  lose(reason) {
    if (this.#state === 'closed' || this.#state === 'lost') return;
    this.#state = 'lost';
    this.#lostFor = reason;
    this.#prepared.reject(reason);
    this.emit('lost', reason);
  }

  /**
   * The kernel has freed the id before it said so: open it again at once, but not for ever.
   *
   * @param {KernelError} reason
   */
  #crashed(reason) {
    if (this.#state === 'closed') return;
    this.exchange.abandon(this.id, reason);
    if (this.#policy.crashed() === null) {
      this.lose(reason);
      return;
    }
    this.interrupted(reason);
    this.reopen().catch(ignore); // whoever listens is told by `lost`
  }
}

function closed() {
  return new KernelError(Reason.SESSION_CLOSED, 'The repository was closed in this window.');
}
