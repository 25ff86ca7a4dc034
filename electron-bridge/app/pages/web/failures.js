/** What a page is told when there is nobody to ask: plain objects, as in Electron. */

/** @typedef {import('../../../window-kernel.d.ts').KernelFailure} KernelFailure */

/**
 * @param {string} code
 * @param {string} message
 * @returns {KernelFailure}
 */
export function failure(code, message) {
  return { name: 'KernelError', code, message };
}

export function lost() {
  return failure('KERNEL_CRASHED', 'The connection to codekernel broke while this was under way.');
}

/** Nobody starts it again for a browser: one crash, or one closed terminal, is enough. */
export function unreachable() {
  return failure(
    'KERNEL_UNREACHABLE',
    'codekernel cannot be reached. Start codekernel web again and open the address it prints.',
  );
}

export function stopped() {
  return failure(
    'KERNEL_STOPPED',
    'codekernel was stopped. Start codekernel web again and open the address it prints.',
  );
}

/** @param {string} call */
export function tooLate(call, /** @type {number} */ seconds) {
  return failure('TIMEOUT', `codekernel did not answer ${call} within ${seconds} seconds.`);
}

/** @param {string} call */
export function tooLarge(call) {
  return failure('TOO_LARGE', `${call} has more than 16 MiB; the kernel takes less.`);
}
