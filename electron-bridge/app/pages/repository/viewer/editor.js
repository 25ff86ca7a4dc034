/** Open a place of the repository in the user's editor. */

import { t } from '../../common/i18n.js';
import { hostInfo, kernel } from '../../common/kernel.js';
import { toast, toastFailure } from '../../common/toast.js';

let isThere = true; // until the host says otherwise
hostInfo().then(
  ({ canOpenEditor }) => (isThere = canOpenEditor !== false),
  () => {},
);

/** Whether there is an editor: a button that cannot work is not shown. */
export function hasEditor() {
  return isThere;
}

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
