/** One WebSocket after another: connected, broken, tried again, given up, stopped. */

import { lostFailure, stoppedFailure, unreachableFailure } from './failures.js';

/** @typedef {import('../../../window-kernel.d.ts').KernelFailure} KernelFailure */
/** @typedef {'starting' | 'running' | 'restarting' | 'stopped' | 'failed'} State */

/** Long enough for a machine that wakes up, short enough to watch; the last is for all others. */
const DELAYS_MS = [250, 1000, 4000];
/** On loopback there is no network to come back: about 20 seconds, then the user must act. */
const MAX_ATTEMPTS = 7;
/** The close code of a server that stops. */
const GOING_AWAY = 1001;
const ABNORMAL_CLOSURE = 1006;

export class Connection {
  /** @type {State} */
  #state = 'starting';
  /** @type {WebSocket | null} */
  #socket = null;
  #attempts = 0;
  /** @type {KernelFailure | undefined} */
  #reason;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {string} address
   * @param {() => string[]} subprotocols read at each attempt: another tab may have a newer secret
   * @param {{ delaysMs?: number[], maxAttempts?: number }} [options]
   */
  constructor(address, subprotocols, { delaysMs = DELAYS_MS, maxAttempts = MAX_ATTEMPTS } = {}) {
    this.address = address;
    this.subprotocols = subprotocols;
    this.options = { delaysMs, maxAttempts };
    /** @type {(message: any) => void} */
    this.onMessage = () => {};
    /** @type {(state: State, reason?: KernelFailure) => void} */
    this.onState = () => {};
  }

  get state() {
    return this.#state;
  }

  /** Why there is no connection and will be none, or undefined. */
  get refusal() {
    return this.#state === 'failed' || this.#state === 'stopped' ? this.#reason : undefined;
  }

  start() {
    globalThis.document?.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible' && this.#state === 'failed') this.retry();
    });
    this.#open();
  }

  /** Try once more, on request of the user. */
  retry() {
    if (!this.refusal) return;
    this.#attempts = this.options.maxAttempts - 1; // one attempt: it is there, or it is not
    this.#setState('restarting');
    this.#open();
  }

  /** Try from the start, now: another tab has a newer secret, so codekernel runs again. */
  renew() {
    if (this.#state === 'running') return;
    this.#attempts = 0;
    this.#setState('restarting');
    this.#open();
  }

  /** @param {string} text only while it runs */
  send(text) {
    this.#socket?.send(text);
  }

  #open() {
    clearTimeout(this.#timer);
    this.#attempts += 1;
    const socket = new WebSocket(this.address, this.subprotocols());
    this.#socket = socket;
    socket.addEventListener('open', () => {
      this.#attempts = 0;
      this.#setState('running');
    });
    socket.addEventListener('message', ({ data }) => this.onMessage(JSON.parse(data)));
    socket.addEventListener('close', ({ code }) => this.#onClose(socket, code));
    socket.addEventListener('error', () => this.#onClose(socket, ABNORMAL_CLOSURE)); // not all say both
  }

  /**
   * @param {WebSocket} socket
   * @param {number} code
   */
  #onClose(socket, code) {
    if (this.#socket !== socket) return;
    this.#socket = null;
    const { delaysMs, maxAttempts } = this.options;
    if (code === GOING_AWAY) {
      this.#setState('stopped', stoppedFailure());
    } else if (this.#attempts >= maxAttempts) {
      this.#setState('failed', unreachableFailure());
    } else {
      this.#setState('restarting', lostFailure());
      const pause = delaysMs[Math.min(this.#attempts, delaysMs.length - 1)];
      this.#timer = setTimeout(() => this.#open(), pause);
    }
  }

  /**
   * @param {State} state
   * @param {KernelFailure} [reason]
   */
  #setState(state, reason) {
    const isNews = state !== this.#state;
    this.#state = state;
    this.#reason = reason;
    if (isNews) this.onState(state, reason);
  }
}
