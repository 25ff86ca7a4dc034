/** Failures of the connection itself: plain objects, as in Electron. */

/** @typedef {import('../../../window-kernel.d.ts').KernelFailure} KernelFailure */

/**
 * @param {string} code
 * @param {string} message
 * @returns {KernelFailure}
 */
export function makeFailure(code, message) {
  return { name: 'KernelError', code, message };
}

export function lostFailure() {
  return makeFailure(
    'KERNEL_CRASHED',
    'The connection to codekernel broke while this was running.',
  );
}

/** A browser cannot start it again. */
export function unreachableFailure() {
  return makeFailure(
    'KERNEL_UNREACHABLE',
    'codekernel cannot be reached. Start codekernel web again and open the address it prints.',
  );
}

export function stoppedFailure() {
  return makeFailure(
    'KERNEL_STOPPED',
    'codekernel was stopped. Start codekernel web again and open the address it prints.',
  );
}

/** @param {string} call */
export function timeoutFailure(call, /** @type {number} */ seconds) {
  return makeFailure('TIMEOUT', `codekernel did not answer ${call} within ${seconds} seconds.`);
}

/** @param {string} call */
export function tooLargeFailure(call) {
  return makeFailure('TOO_LARGE', `${call} has more than 16 MiB; the kernel takes less.`);
}
