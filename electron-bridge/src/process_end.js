/** Stop a kernel process, and the errors for each way in which it can end. */

import { MAIN_SESSION_ID, NO_CALLBACK, encodeRequest } from './envelope.js';
import { KernelError, Reason } from './errors.js';
import { ignore } from './deferred.js';

/** @typedef {import('./kernel_process.js').KernelProcess} KernelRun */

/**
 * Ask a run to stop, wait for its end, and kill what does not go.
 *
 * @param {KernelRun} run
 * @param {number} withinMs
 * @returns {Promise<{ code: number | null, killed: boolean }>} code 0: everything ended in order
 */
export async function stopProcess(run, withinMs) {
  const line = encodeRequest(MAIN_SESSION_ID, NO_CALLBACK, 'stopAll', {});
  run.send(line, { urgent: true }).then(() => run.endInput(), ignore);
  let killed = false;
  const timer = setTimeout(() => {
    killed = true;
    run.kill();
  }, withinMs);
  const { code } = await run.ended;
  clearTimeout(timer);
  return { code, killed };
}

export function stoppedError() {
  return new KernelError(Reason.KERNEL_STOPPED, 'The kernel was stopped.');
}

/**
 * @param {import('./kernel_process.js').ProcessExit} ending
 * @param {string | null} crashMessage what it reported of its own crash, if it could
 */
export function crashedError({ code, signal }, crashMessage) {
  const how = signal ? `was ended by ${signal}` : `ended with code ${code}`;
  const why = crashMessage ? `: ${crashMessage}` : '';
  return new KernelError(Reason.KERNEL_CRASHED, `The kernel ${how}${why}.`);
}

/**
 * @param {KernelError} last
 * @param {number} times
 */
export function gaveUpError(last, times) {
  const message = `The kernel crashed ${times} times in a row. ${last.message}`;
  return new KernelError(Reason.KERNEL_GAVE_UP, message, { cause: last });
}

/** @param {unknown} error */
export function cannotStartError(error) {
  if (error instanceof KernelError) return error;
  const why = error instanceof Error ? error.message : String(error);
  const message = `The kernel cannot be started: ${why}`;
  return new KernelError(Reason.KERNEL_NOT_FOUND, message, { cause: error });
}
