/** Explain a failure: a sentence, advice, and the kernel's own message where it helps. */

import { hasText, t } from './i18n.js';

/** @typedef {import('../../../window-kernel.d.ts').KernelFailure} KernelFailure */

/**
 * @typedef {object} Explained
 * @property {string} code '' if it is no failure of the kernel
 * @property {string} sentence what happened
 * @property {string} advice what to do, or ''
 * @property {string} detail the kernel's own words (always English), or ''
 */

/** The sentence says all there is; the kernel's words would only repeat it. */
const SAYS_ALL = new Set([
  'ABORTED',
  'KERNEL_NOT_STARTED',
  'SESSION_CLOSED',
  'SESSION_NOT_FOUND',
  'REPO_NAME_EXIST',
  'REPO_NAME_NOT_MATCH',
]);

/**
 * @param {unknown} failure what a promise of `window.kernel` was rejected with, or any error
 * @returns {Explained}
 */
export function explain(failure) {
  const { code, message } = /** @type {{ code?: unknown, message?: unknown }} */ (failure ?? {});
  const words = typeof message === 'string' ? message : '';
  if (typeof code !== 'string' || !isKernelFailure(failure)) {
    return {
      code: '',
      sentence: t('failure.page'),
      advice: t('failure.page.advice'),
      detail: words || String(failure),
    };
  }
  const key = hasText(`failure.${code}`) ? `failure.${code}` : 'failure.UNKNOW_ERROR';
  return {
    code,
    sentence: t(key),
    advice: hasText(`${key}.advice`) ? t(`${key}.advice`) : '',
    detail: SAYS_ALL.has(code) ? '' : words,
  };
}

/**
 * One line, for places without room for more.
 *
 * @param {unknown} failure
 */
export function oneLine(failure) {
  const { sentence, detail } = explain(failure);
  return detail ? `${sentence} ${detail}` : sentence;
}

/**
 * @param {unknown} failure
 * @returns {failure is KernelFailure}
 */
export function isKernelFailure(failure) {
  return /** @type {any} */ (failure)?.name === 'KernelError';
}
