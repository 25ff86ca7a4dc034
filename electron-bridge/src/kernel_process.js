/** One run of the kernel process: lines in, lines out, and its end. Knows no message. */

import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';

import { parseCallbackId, parseEnvelope } from './envelope.js';
import { KernelError, Reason } from './errors.js';
import { LineDecoder } from './lines.js';
import { Outbox } from './outbox.js';

/** What a log may show of a line: who speaks, but never the data, which may be a key. */
const MAX_SHOWN_CHARS = 80;
/** What the pipes may still hold after the exit is read for so long, should they stay open. */
const DRAIN_TIMEOUT_MS = 1000;

/**
 * @typedef {{ code: number | null, signal: NodeJS.Signals | null, error?: Error }} ProcessExit
 * `error`: the process could not even be started
 */

/**
 * Events: `message` (an envelope), `tooLong` (the callbackId whose answer was thrown away, or null).
 */
export class KernelProcess extends EventEmitter {
  #child;
  #outbox;

  /**
   * @param {{ command: string, args: string[], cwd: string }} located
   * @param {{
   *   env: Record<string, string | undefined>,
   *   log: { write(text: string): void },
   *   maxLineBytes?: number,
   *   queue?: { lines?: number, bytes?: number },
   * }} options
   */
  constructor({ command, args, cwd }, { env, log, maxLineBytes, queue }) {
    super();
    this.log = log;
    this.#child = spawn(command, args, { cwd, env, stdio: 'pipe', windowsHide: true });
    this.#outbox = new Outbox(this.#child.stdin, queue);
    const lines = new LineDecoder({
      onLine: (line) => this.#handleLine(line),
      onTooLong: (head) => {
        log.write(`[bridge] a line was too long and thrown away: ${truncate(head)}`);
        this.emit('tooLong', parseCallbackId(head));
      },
      limit: maxLineBytes,
    });
    for (const pipe of [this.#child.stdout, this.#child.stderr]) {
      pipe.on('error', (error) => log.write(`[bridge] a pipe broke: ${error.message}`));
    }
    this.#child.stdout.on('data', (chunk) => lines.push(chunk));
    const complaints = new LineDecoder({ onLine: (line) => log.write(line) });
    this.#child.stderr.on('data', (chunk) => complaints.push(chunk));
    /** @type {Promise<ProcessExit>} Resolves when the process is gone and its last words are read. */
    this.ended = new Promise((resolve) => this.#watchExit(resolve)).then((ending) => {
      this.#outbox.close(new KernelError(Reason.KERNEL_CRASHED, 'The kernel has ended.'));
      const [half, lastComplaint] = [lines.end(), complaints.end()];
      if (half) log.write(`[bridge] cut off: ${truncate(half)}`);
      if (lastComplaint) log.write(lastComplaint);
      return ending;
    });
  }

  get pid() {
    return this.#child.pid;
  }

  /**
   * Resolves when the line is in the pipe; rejects with QUEUE_FULL or KERNEL_CRASHED.
   *
   * @param {string} line
   * @param {{ urgent?: boolean }} [options]
   */
  send(line, options) {
    return this.#outbox.send(line, options);
  }

  /** The end of its input means stopAll to the kernel; what was not sent yet is not sent. */
  endInput() {
    this.#outbox.close(new KernelError(Reason.KERNEL_STOPPED, 'The kernel was stopped.'));
    this.#child.stdin.end();
  }

  kill() {
    this.#child.kill('SIGKILL');
  }

  /** @param {string} line */
  #handleLine(line) {
    const envelope = parseEnvelope(line);
    if (envelope) this.emit('message', envelope);
    else this.log.write(`[bridge] not a message: ${truncate(line)}`);
  }

  /** @param {(ending: ProcessExit) => void} resolve */
  #watchExit(resolve) {
    this.#child.on('error', (error) => {
      if (this.#child.pid === undefined) resolve({ code: null, signal: null, error });
    });
    this.#child.on('exit', (code, signal) => {
      // A child of the kernel may hold the pipes open, and then `close` never comes.
      const timer = setTimeout(() => resolve({ code, signal }), DRAIN_TIMEOUT_MS);
      this.#child.once('close', () => {
        clearTimeout(timer);
        resolve({ code, signal });
      });
    });
  }
}

/** @param {string} line */
function truncate(line) {
  return line.slice(0, MAX_SHOWN_CHARS);
}
