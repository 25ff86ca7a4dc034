/** The life of the kernel over its runs: started, ready, crashed, started again, stopped. */

import { EventEmitter } from 'node:events';

import { Deferred, ignore } from './deferred.js';
import { cannotStart, crashed, gaveUp, stopped, stopRun } from './endings.js';
import { answerLine } from './envelope.js';
import { KernelError, Reason } from './errors.js';
import { RestartPolicy } from './restarts.js';

/** `ready` comes before the kernel imports anything; a minute is a machine that is on its knees. */
const READY_WITHIN_MS = 60_000;
/** The kernel gives its own lanes, sessions and pipes up to about 13 seconds in all. */
const STOP_WITHIN_MS = 15_000;

/** @typedef {'idle' | 'starting' | 'running' | 'restarting' | 'stopping' | 'stopped' | 'failed'} State */
/** @typedef {import('./run.js').KernelRun} KernelRun */

/**
 * Events: `up` (run), before whoever waits for it goes on; `state` (state, reason or null);
 * `message` (envelope, run); `tooLong` (callbackId or null); `down` (run, reason).
 */
export class KernelLife extends EventEmitter {
  /** @type {State} */
  #state = 'idle';
  /** @type {KernelRun | null} */
  #run = null;
  #ready = new Deferred();
  /** @type {string | null} */
  #lastWords = null;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #policy = new RestartPolicy();

  /**
   * @param {{
   *   spawn: () => KernelRun,
   *   restarts?: ConstructorParameters<typeof RestartPolicy>[0],
   *   readyWithinMs?: number,
   *   stopWithinMs?: number,
   * }} options
   */
  constructor({ spawn, restarts, readyWithinMs = READY_WITHIN_MS, stopWithinMs = STOP_WITHIN_MS }) {
    super();
    this.options = { spawn, restarts, readyWithinMs, stopWithinMs };
  }

  get state() {
    return this.#state;
  }

  /** The run that takes requests now, or null. */
  get current() {
    return this.#state === 'running' ? this.#run : null;
  }

  /** Resolves at `ready`; rejects when there is no kernel, or it crashes again and again. */
  async start() {
    if (['idle', 'stopped', 'failed'].includes(this.#state)) {
      this.#policy = new RestartPolicy(this.options.restarts);
      this.#ready = new Deferred();
      this.#begin('starting');
    }
    await this.#ready.promise;
  }

  /**
   * The run that takes requests, as soon as there is one.
   *
   * @returns {Promise<KernelRun>}
   */
  up() {
    if (this.#state !== 'idle') return this.#ready.promise;
    const message = 'The kernel was not started.';
    return Promise.reject(new KernelError(Reason.KERNEL_NOT_STARTED, message));
  }

  /** Ask it to stop, wait, and kill what does not go. */
  async stop() {
    clearTimeout(this.#timer);
    if (this.#state === 'idle' || this.#state === 'failed') return { code: null, killed: false };
    this.#refuse(stopped());
    if (!this.#run) {
      this.#become('stopped', null);
      return { code: null, killed: false };
    }
    this.#become('stopping', null);
    return stopRun(this.#run, this.options.stopWithinMs);
  }

  /** @param {State} state */
  #begin(state) {
    this.#become(state, null);
    this.#lastWords = null;
    let run;
    try {
      run = this.options.spawn();
    } catch (error) {
      this.#fail(cannotStart(error));
      return;
    }
    this.#run = run;
    run.on('message', (envelope) => this.#hear(envelope, run));
    run.on('tooLong', (callbackId) => this.emit('tooLong', callbackId));
    run.ended.then((ending) => this.#ended(run, ending));
    this.#timer = setTimeout(() => {
      this.#lastWords = `it was not ready within ${this.options.readyWithinMs} ms`;
      run.kill();
    }, this.options.readyWithinMs);
  }

  /**
   * @param {import('./envelope.js').Envelope} envelope
   * @param {KernelRun} run
   */
  #hear(envelope, run) {
    const type = envelope.isReply ? '' : envelope.message.type;
    if (type === 'kernelServerCrashed') this.#lastWords = String(envelope.message.error);
    if (type === 'ready' && (this.#state === 'starting' || this.#state === 'restarting')) {
      clearTimeout(this.#timer);
      this.#policy.up();
      run.send(String(answerLine(envelope, true)), { urgent: true }).catch(ignore);
      this.#state = 'running';
      this.emit('up', run);
      this.emit('state', 'running', null);
      this.#ready.resolve(run);
    }
    this.emit('message', envelope, run);
  }

  /**
   * @param {KernelRun} run
   * @param {import('./run.js').Ending} ending
   */
  #ended(run, ending) {
    clearTimeout(this.#timer);
    this.#run = null;
    if (this.#state === 'stopping') {
      this.emit('down', run, stopped());
      this.#become('stopped', null);
    } else if (ending.error) {
      this.#fail(cannotStart(ending.error));
    } else {
      this.#crashed(run, crashed(ending, this.#lastWords));
    }
  }

  /**
   * @param {KernelRun} run
   * @param {KernelError} reason
   */
  #crashed(run, reason) {
    if (this.#state === 'running') this.#ready = new Deferred();
    const pause = this.#policy.crashed();
    this.#state = 'restarting'; // so that what is asked for from now on waits for the next run
    this.emit('down', run, reason);
    if (pause === null) {
      this.#fail(gaveUp(reason, this.#policy.inARow + 1));
      return;
    }
    this.emit('state', 'restarting', reason);
    if (this.#state === 'restarting') {
      this.#timer = setTimeout(() => this.#begin('restarting'), pause);
    }
  }

  /** @param {KernelError} reason */
  #fail(reason) {
    this.#refuse(reason);
    this.#become('failed', reason);
  }

  /** Whoever waits for the kernel, now or later, is told why it will not come. */
  #refuse(/** @type {KernelError} */ reason) {
    this.#ready.reject(reason);
    this.#ready = new Deferred();
    this.#ready.reject(reason);
  }

  /**
   * @param {State} state
   * @param {KernelError | null} reason
   */
  #become(state, reason) {
    const isNews = state !== this.#state;
    this.#state = state;
    if (isNews) this.emit('state', state, reason);
  }
}
