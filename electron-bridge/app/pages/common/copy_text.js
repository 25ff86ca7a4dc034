/** To the clipboard: Electron denies it to pages, so there the host does it. */

import { t } from './i18n.js';
import { toast, toastFailure } from './toast.js';

/**
 * @param {string} text
 * @param {string} [message] the text of the toast
 */
export async function copyText(text, message = t('said.copied')) {
  try {
    const { kernel } = window; // the page of the hub has none
    const info = await kernel?.host('hostInfo');
    if (info?.kind === 'electron') await kernel.host('copyText', { text });
    else await navigator.clipboard.writeText(text);
    toast(message, { kind: 'success' });
  } catch (failure) {
    toastFailure(failure);
  }
}
