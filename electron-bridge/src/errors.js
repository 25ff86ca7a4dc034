/**
 * Every way a call to the kernel can fail.
 *
 * A refusal of the kernel carries the kernel's own code (see PROTOCOL.md); the codes below are the
 * bridge's, for what the kernel could not say itself. The message is for the user.
 */

export const Reason = Object.freeze({
  /** No answer in time. The kernel may still carry the request out. */
  TIMEOUT: 'TIMEOUT',
  /** The caller's AbortSignal. */
  ABORTED: 'ABORTED',
  /** The process ended while the request was pending. */
  KERNEL_CRASHED: 'KERNEL_CRASHED',
  /** It crashed too often in a row; only a new start() helps. */
  KERNEL_GAVE_UP: 'KERNEL_GAVE_UP',
  /** stop() was called. */
  KERNEL_STOPPED: 'KERNEL_STOPPED',
  /** start() has not been called. */
  KERNEL_NOT_STARTED: 'KERNEL_NOT_STARTED',
  /** There is no kernel to run, or it cannot be run. */
  KERNEL_NOT_FOUND: 'KERNEL_NOT_FOUND',
  /** The kernel does not read fast enough, and too much is waiting for it. */
  QUEUE_FULL: 'QUEUE_FULL',
  /** A request, or an answer, of more bytes than anybody is willing to hold. */
  TOO_LARGE: 'TOO_LARGE',
  /** The session was closed, by close() or because its repository was deleted. */
  SESSION_CLOSED: 'SESSION_CLOSED',
  /** A window asked for something that it may not. */
  FORBIDDEN: 'FORBIDDEN',
});

export const SUCCESS = 'SUCCESS';

/** A request that failed: `code` is the kernel's word or one of `Reason`. */
export class KernelError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {{ cause?: unknown, done?: object }} [more] `done`: how the conversation ended
   */
  constructor(code, message, more = {}) {
    super(message, 'cause' in more ? { cause: more.cause } : undefined);
    this.name = 'KernelError';
    this.code = code;
    if (more.done !== undefined) this.done = more.done;
  }

  /** What may cross a process boundary. */
  toJSON() {
    return { name: this.name, code: this.code, message: this.message };
  }
}

/**
 * The failure in a reply's status, or null for a success.
 *
 * @param {unknown} status
 * @returns {KernelError | null}
 */
export function parseFailure(status) {
  const { code, message } = /** @type {{ code?: unknown, message?: unknown }} */ (status ?? {});
  if (code === SUCCESS) return null;
  if (typeof code !== 'string') {
    return new KernelError('UNKNOW_ERROR', 'The kernel answered without a status.');
  }
  return new KernelError(code, typeof message === 'string' ? message : '');
}
