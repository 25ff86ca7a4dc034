/** A path with its folders dimmed, so that the name is what the eye finds. */

import { html } from '../../common/lit.js';

/** @param {string} filePath */
export function pathText(filePath) {
  const at = filePath.lastIndexOf('/') + 1;
  return html`<span class="path"
    ><span class="path-folder">${filePath.slice(0, at)}</span
    ><span class="path-name">${filePath.slice(at)}</span></span
  >`;
}

/**
 * Lines as people count them: from 1, the last included.
 *
 * @param {number} beginLine from 0
 * @param {number} endLine the first that does not belong to it
 */
export function lineRange(beginLine, endLine) {
  return endLine - beginLine > 1 ? `${beginLine + 1}–${endLine}` : `${beginLine + 1}`;
}
