/** The life of the kernel over its runs: started, ready, crashed, started again, stopped. */

import { EventEmitter } from 'node:events';

import { Deferred, ignore } from './deferred.js';
import {
  cannotStartError,
  crashedError,
  gaveUpError,
  stoppedError,
  stopProcess,
} from './process_end.js';
import { encodeReply } from './envelope.js';
import { KernelError, Reason } from './errors.js';
import { RestartPolicy } from './restarts.js';

/** `ready` comes before the kernel imports anything; a minute is a machine that is on its knees. */
const READY_TIMEOUT_MS = 60_000;
/** The kernel gives its own lanes, sessions and pipes up to about 13 seconds in all. */
const STOP_TIMEOUT_MS = 15_000;

/** @typedef {'idle' | 'starting' | 'running' | 'restarting' | 'stopping' | 'stopped' | 'failed'} State */
/** @typedef {import('./kernel_process.js').KernelProcess} KernelRun */

/**
 * Events: `up` (run), before those that wait for it continue; `state` (state, reason or null);
 * `message` (envelope, run); `tooLong` (callbackId or null); `down` (run, reason).
 */
export class KernelSupervisor extends EventEmitter {
  /** @type {State} */
  #state = 'idle';
  /** @type {KernelRun | null} */
  #process = null;
  #ready = new Deferred();
  /** @type {string | null} */
  #crashMessage = null;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #policy = new RestartPolicy();

  /**
   * @param {{
   *   spawn: () => KernelRun,
   *   restarts?: ConstructorParameters<typeof RestartPolicy>[0],
   *   readyTimeoutMs?: number,
   *   stopTimeoutMs?: number,
   * }} options
   */
  constructor({
    spawn,
    restarts,
    readyTimeoutMs = READY_TIMEOUT_MS,
    stopTimeoutMs = STOP_TIMEOUT_MS,
  }) {
    super();
    this.options = { spawn, restarts, readyTimeoutMs, stopTimeoutMs };
  }

  get state() {
    return this.#state;
  }

  /** The run that takes requests now, or null. */
  get current() {
    return this.#state === 'running' ? this.#process : null;
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
  waitUntilRunning() {
    if (this.#state !== 'idle') return this.#ready.promise;
    const message = 'The kernel was not started.';
    return Promise.reject(new KernelError(Reason.KERNEL_NOT_STARTED, message));
  }

  /** Ask it to stop, wait, and kill what does not go. */
  async stop() {
    clearTimeout(this.#timer);
    if (this.#state === 'idle' || this.#state === 'failed') return { code: null, killed: false };
    this.#rejectWaiting(stoppedError());
    if (!this.#process) {
      this.#setState('stopped', null);
      return { code: null, killed: false };
    }
    this.#setState('stopping', null);
    return stopProcess(this.#process, this.options.stopTimeoutMs);
  }

  /** @param {State} state */
  #begin(state) {
    this.#setState(state, null);
    this.#crashMessage = null;
    let run;
    try {
      run = this.options.spawn();
    } catch (error) {
      this.#fail(cannotStartError(error));
      return;
    }
    this.#process = run;
    run.on('message', (envelope) => this.#handleMessage(envelope, run));
    run.on('tooLong', (callbackId) => this.emit('tooLong', callbackId));
    run.ended.then((ending) => this.#onExit(run, ending));
    this.#timer = setTimeout(() => {
      this.#crashMessage = `it was not ready within ${this.options.readyTimeoutMs} ms`;
      run.kill();
    }, this.options.readyTimeoutMs);
  }

  /**
   * @param {import('./envelope.js').Envelope} envelope
   * @param {KernelRun} run
   */
  #handleMessage(envelope, run) {
    const type = envelope.isReply ? '' : envelope.message.type;
    if (type === 'kernelServerCrashed') this.#crashMessage = String(envelope.message.error);
    if (type === 'ready' && (this.#state === 'starting' || this.#state === 'restarting')) {
      clearTimeout(this.#timer);
      this.#policy.markRunning();
      run.send(String(encodeReply(envelope, true)), { urgent: true }).catch(ignore);
      this.#state = 'running';
      this.emit('up', run);
      this.emit('state', 'running', null);
      this.#ready.resolve(run);
    }
    this.emit('message', envelope, run);
  }

  /**
   * @param {KernelRun} run
   * @param {import('./kernel_process.js').ProcessExit} ending
   */
  #onExit(run, ending) {
    clearTimeout(this.#timer);
    this.#process = null;
    if (this.#state === 'stopping') {
      this.emit('down', run, stoppedError());
      this.#setState('stopped', null);
    } else if (ending.error) {
      this.#fail(cannotStartError(ending.error));
    } else {
      this.#onCrash(run, crashedError(ending, this.#crashMessage));
    }
  }

  /**
   * @param {KernelRun} run
   * @param {KernelError} reason
   */
  #onCrash(run, reason) {
    if (this.#state === 'running') this.#ready = new Deferred();
    const pause = this.#policy.nextDelay();
    this.#state = 'restarting'; // so that requests from now on wait for the next run
    this.emit('down', run, reason);
    if (pause === null) {
      this.#fail(gaveUpError(reason, this.#policy.restartCount + 1));
      return;
    }
    this.emit('state', 'restarting', reason);
    if (this.#state === 'restarting') {
      this.#timer = setTimeout(() => this.#begin('restarting'), pause);
    }
  }

  /** @param {KernelError} reason */
  #fail(reason) {
    this.#rejectWaiting(reason);
    this.#setState('failed', reason);
  }

  /** Reject those that wait for the kernel, now or later. */
  #rejectWaiting(/** @type {KernelError} */ reason) {
    this.#ready.reject(reason);
    this.#ready = new Deferred();
    this.#ready.reject(reason);
  }

  /**
   * @param {State} state
   * @param {KernelError | null} reason
   */
  #setState(state, reason) {
    const isNews = state !== this.#state;
    this.#state = state;
    if (isNews) this.emit('state', state, reason);
  }
}
