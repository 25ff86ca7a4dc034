/** From place to place without a reload: the address changes, and whoever listens shows it. */

import { hostInfo, kernel } from './kernel.js';
import { pageAddress, placeOf } from './page_address.js';

export { pageAddress };
/** @typedef {import('./page_address.js').Page} Page */
/** @typedef {import('./page_address.js').Place} Place */

/** @type {Set<(place: Place) => void>} */
const listeners = new Set();

/** @returns {Place} */
export function currentPlace() {
  return placeOf(location);
}

/** @param {(place: Place) => void} listener called after each change that is to be shown */
export function onNavigate(listener) {
  listeners.add(listener);
}

/**
 * Go to a place, and show it.
 *
 * @param {Place} place
 * @param {{ replace?: boolean }} [options] `replace`: back leads to what was before this one
 */
export function navigate(place, options = {}) {
  noteAddress(place, options);
  notify();
}

/**
 * Write what is shown already into the address.
 *
 * @param {Place} place
 * @param {{ replace?: boolean }} [options]
 */
export function noteAddress({ page, ...which }, { replace = false } = {}) {
  const address = pageAddress(page, which);
  if (new URL(address, location.href).href === location.href) return;
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
}

/**
 * Show a page.
 *
 * @param {Page} page
 * @param {Omit<Place, 'page'>} [which]
 */
export async function openPage(page, which = {}) {
  navigate({ page, ...which });
}

/**
 * For `@click` of a link whose `href` is `pageAddress(...)`: with Ctrl, Cmd or Shift a browser opens
 * a tab by itself, and the desktop app a window.
 *
 * @param {Page} page
 * @param {Omit<Place, 'page'> & { failed?: (failure: unknown) => void }} [options]
 */
export function opensPage(page, { failed = console.error, ...which } = {}) {
  return (/** @type {MouseEvent} */ event) => {
    const isElsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
    if (isElsewhere) {
      openWindow(page, which).catch(failed);
      return;
    }
    event.preventDefault();
    navigate({ page, ...which });
  };
}

/**
 * @param {Page} page
 * @param {Omit<Place, 'page'>} which
 */
async function openWindow(page, which) {
  const { kind } = await hostInfo();
  if (kind === 'electron') await kernel.host('openWindow', { page, ...which });
}

function notify() {
  const place = currentPlace();
  for (const listener of listeners) listener(place);
}

globalThis.addEventListener('popstate', notify);
kernel.on('placeRequested', ({ address }) => {
  navigate(placeOf(new URL(address, location.href)));
});
