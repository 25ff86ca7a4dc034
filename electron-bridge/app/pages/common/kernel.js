/**
 * The kernel and the host, as every page sees them.
 *
 * In Electron the preload has defined `window.kernel` before any script runs; in a browser
 * web_kernel.js does, which each page loads first.
 */

import { t } from './i18n.js';

/** @typedef {import('../../../window-kernel.d.ts').WindowKernel} WindowKernel */

/**
 * @typedef {object} HostInfo
 * @property {'electron' | 'browser'} kind
 * @property {'linux' | 'darwin' | 'win32'} platform
 * @property {string} version
 * @property {string} locale
 * @property {boolean} canChooseFolder
 * @property {boolean} canOpenEditor whether there is an editor to open a file in
 * @property {string} folder where the host was started, or ''
 */

/** @typedef {WindowKernel & Record<string, any>} Kernel */

export const kernel = /** @type {Kernel} */ (window.kernel);

if (!kernel) {
  document.body.textContent = t('failure.noKernel');
  throw new Error('There is no window.kernel.');
}

/** @type {Promise<HostInfo> | undefined} */
let info;

/** The host of this page; requested once, and again only after a failure. */
export function hostInfo() {
  info ??= kernel.host('hostInfo').catch((/** @type {unknown} */ failure) => {
    info = undefined;
    throw failure;
  });
  return /** @type {Promise<HostInfo>} */ (info);
}
