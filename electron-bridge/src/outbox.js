/**
 * What waits to be written to the kernel: in order, bounded, and never faster than it reads.
 *
 * Urgent lines (stops, and answers to the kernel) overtake what waits and are never refused: they
 * are what makes a kernel that is behind get done.
 */

import { KernelError, Reason } from './errors.js';

/** As many as the kernel itself queues; with more than that, the kernel is not reading. */
const MAX_LINES = 8192;
/** Four lines of the greatest length that the kernel takes. */
const MAX_BYTES = 64 * 1024 * 1024;

/** @typedef {{ line: string, size: number, resolve: () => void, reject: (e: Error) => void }} Waiting */

export class Outbox {
  /** @type {Waiting[]} */
  #urgent = [];
  /** @type {Waiting[]} */
  #waiting = [];
  #bytes = 0;
  #isFull = false;
  /** @type {Error | null} */
  #closedFor = null;

  /**
   * @param {import('node:stream').Writable} stream
   * @param {{ lines?: number, bytes?: number }} [limits]
   */
  constructor(stream, { lines = MAX_LINES, bytes = MAX_BYTES } = {}) {
    this.stream = stream;
    this.limits = { lines, bytes };
    stream.on('drain', () => {
      this.#isFull = false;
      this.#flush();
    });
    // EPIPE and the like: the exit of the process, which follows, tells why.
    stream.on('error', (error) => {
      this.close(
        new KernelError(Reason.KERNEL_CRASHED, 'The kernel reads no more.', { cause: error }),
      );
    });
  }

  /** How many lines wait for the kernel to read. */
  get length() {
    return this.#urgent.length + this.#waiting.length;
  }

  /**
   * Resolves when the line is in the pipe.
   *
   * @param {string} line without its newline
   * @param {{ urgent?: boolean }} [options]
   * @returns {Promise<void>}
   */
  send(line, { urgent = false } = {}) {
    if (this.#closedFor) return Promise.reject(this.#closedFor);
    const size = Buffer.byteLength(line) + 1;
    const isTooMuch =
      this.#waiting.length >= this.limits.lines || this.#bytes + size > this.limits.bytes;
    if (this.#isFull && !urgent && isTooMuch) {
      return Promise.reject(
        new KernelError(
          Reason.QUEUE_FULL,
          `The kernel is behind: ${this.length} requests wait to be read. Try again later.`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      (urgent ? this.#urgent : this.#waiting).push({ line, size, resolve, reject });
      this.#bytes += size;
      this.#flush();
    });
  }

  /** @param {Error} reason why nothing is written any more */
  close(reason) {
    if (this.#closedFor) return;
    this.#closedFor = reason;
    const unsent = [...this.#urgent, ...this.#waiting];
    this.#urgent = [];
    this.#waiting = [];
    this.#bytes = 0;
    for (const waiting of unsent) waiting.reject(reason);
  }

  #flush() {
    while (!this.#isFull && !this.#closedFor) {
      const next = this.#urgent.shift() ?? this.#waiting.shift();
      if (!next) return;
      this.#bytes -= next.size;
      this.#isFull = !this.stream.write(next.line + '\n');
      next.resolve();
    }
  }
}
