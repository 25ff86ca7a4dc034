/** One WebSocket after another: connected, broken, tried again, given up, stopped. */

import { lost, stopped, unreachable } from './failures.js';

/** @typedef {import('../../../window-kernel.d.ts').KernelFailure} KernelFailure */
/** @typedef {'starting' | 'running' | 'restarting' | 'stopped' | 'failed'} State */

/** Long enough for a machine that wakes up, short enough to watch; the last is for all others. */
const PAUSES_MS = [250, 1000, 4000];
/** On loopback there is no network to come back: about 20 seconds, then somebody must look. */
const MOST_ATTEMPTS = 7;
/** The server says so when it ends. */
const GOING_AWAY = 1001;
const BROKEN = 1006;

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
   * @param {() => string[]} subprotocols asked for at each attempt: another tab may know better
   * @param {{ pausesMs?: number[], mostAttempts?: number }} [options]
   */
  constructor(address, subprotocols, { pausesMs = PAUSES_MS, mostAttempts = MOST_ATTEMPTS } = {}) {
    this.address = address;
    this.subprotocols = subprotocols;
    this.options = { pausesMs, mostAttempts };
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

  /** Somebody wants to see whether it is back. */
  retry() {
    if (!this.refusal) return;
    this.#attempts = this.options.mostAttempts - 1; // one attempt: it is there, or it is not
    this.#become('restarting');
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
      this.#become('running');
    });
    socket.addEventListener('message', ({ data }) => this.onMessage(JSON.parse(data)));
    socket.addEventListener('close', ({ code }) => this.#closed(socket, code));
    socket.addEventListener('error', () => this.#closed(socket, BROKEN)); // not all say both
  }

  /**
   * @param {WebSocket} socket
   * @param {number} code
   */
  #closed(socket, code) {
    if (this.#socket !== socket) return;
    this.#socket = null;
    const { pausesMs, mostAttempts } = this.options;
    if (code === GOING_AWAY) {
      this.#become('stopped', stopped());
    } else if (this.#attempts >= mostAttempts) {
      this.#become('failed', unreachable());
    } else {
      this.#become('restarting', lost());
      const pause = pausesMs[Math.min(this.#attempts, pausesMs.length - 1)];
      this.#timer = setTimeout(() => this.#open(), pause);
    }
  }

  /**
   * @param {State} state
   * @param {KernelFailure} [reason]
   */
  #become(state, reason) {
    const isNews = state !== this.#state;
    this.#state = state;
    this.#reason = reason;
    if (isNews) this.onState(state, reason);
  }
}
