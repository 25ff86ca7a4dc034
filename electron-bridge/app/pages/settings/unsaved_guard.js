/** Ask before a window with unsaved changes is closed; a browser does so by itself. */

import { confirmDialog } from '../common/dialog.js';
import { t } from '../common/i18n.js';
import { hostInfo } from '../common/kernel.js';

/** @param {() => boolean} isDirty */
export function guardLeaving(isDirty) {
  let isElectron = false;
  let mayLeave = false;
  let isAsking = false;
  hostInfo().then(
    ({ kind }) => (isElectron = kind === 'electron'),
    () => {}, // without a host there is nothing to save to either
  );
  const ask = async () => {
    if (isAsking) return;
    isAsking = true;
    mayLeave = await confirmDialog({
      title: t('settings.leave'),
      text: t('settings.leave.text'),
      confirm: t('settings.leave.confirm'),
      danger: true,
    });
    isAsking = false;
    if (mayLeave) window.close();
  };
  globalThis.addEventListener('beforeunload', (event) => {
    if (mayLeave || !isDirty()) return;
    event.preventDefault();
    if (isElectron) setTimeout(ask); // dialogs cannot be opened while the page unloads
  });
}
