/** A folder that is dropped onto the window. */

import { kernel } from '../common/kernel.js';

/**
 * @param {(folder: { path: string, name: string }) => void} dropped `path` is empty where the host
 *   does not say it
 */
export function onDroppedFolder(dropped) {
  document.addEventListener('dragover', (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
  document.addEventListener('drop', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    const item = event.dataTransfer?.items[0];
    const entry = item?.webkitGetAsEntry();
    const file = item?.getAsFile();
    if (entry?.isDirectory && file) {
      dropped({ name: entry.name, path: kernel.pathOfFile?.(file) ?? '' });
    }
  });
}

/** @param {DragEvent} event */
function hasFiles({ dataTransfer, target }) {
  const isField = target instanceof Element && target.closest('input, textarea');
  return !isField && Boolean(dataTransfer?.types.includes('Files'));
}
