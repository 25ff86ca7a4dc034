/** Tabs: which there are, which an address means, where a key leads. Pure. */

export const TABS = Object.freeze(/** @type {const} */ (['search', 'talk', 'index', 'usage']));
/** @typedef {typeof TABS[number]} Tab */

/**
 * @param {string | undefined} part of the address
 * @returns {Tab | null}
 */
export function tabOf(part) {
  return TABS.find((tab) => part === tab) ?? null;
}

/**
 * @param {Tab} tab
 * @param {string} key
 * @returns {Tab | null} null if the key means nothing here
 */
export function tabAfter(tab, key) {
  const at = TABS.indexOf(tab);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[key];
  return to === undefined ? null : TABS[(to + TABS.length) % TABS.length];
}
