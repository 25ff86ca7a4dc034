/** From page to page: Electron shows windows, a browser navigates. */

import { hostInfo, kernel } from './kernel.js';
import { pageAddress } from './page_address.js';

export { pageAddress };
/** @typedef {import('./page_address.js').Page} Page */

/**
 * Show a page.
 *
 * @param {Page} page
 * @param {{ repoName?: string }} [which]
 */
export async function openPage(page, { repoName } = {}) {
  const { kind } = await hostInfo();
  if (kind === 'electron') await kernel.host('openWindow', { page, ...(repoName && { repoName }) });
  else location.assign(pageAddress(page, { repoName }));
}

/**
 * For `@click` of a link whose `href` is `pageAddress(...)`: a browser follows the link by itself,
 * with all its keys and buttons.
 *
 * @param {Page} page
 * @param {{ repoName?: string, failed?: (failure: unknown) => void }} [options]
 */
export function opensPage(page, { repoName, failed = console.error } = {}) {
  return (/** @type {MouseEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openPage(page, { repoName }).catch(failed);
  };
}
