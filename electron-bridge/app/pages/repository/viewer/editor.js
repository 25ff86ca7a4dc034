/** A place of the repository in the person's editor. */

import { t } from '../../common/i18n.js';
import { kernel } from '../../common/kernel.js';
import { toast, toastFailure } from '../../common/toast.js';

/**
 * @param {string} filePath
 * @param {number} line from 1
 */
export async function openInEditor(filePath, line) {
  try {
    const { editor } = await kernel.host('openInEditor', { filePath, line });
    toast(t('editor.opened', { editor, place: `${filePath}:${line}` }), { kind: 'success' });
  } catch (failure) {
    toastFailure(failure);
  }
}
