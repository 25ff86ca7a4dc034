/** What a page keeps between visits: small texts in localStorage, where there is one. */

const PREFIX = 'codekernel.';

/**
 * @param {string} name
 * @returns {string | null}
 */
export function readPreference(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null; // no storage, or one that is closed to us
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
export function savePreference(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // full or closed: the choice lasts as long as the page
  }
}

/**
 * Another page of the app has changed it.
 *
 * @param {string} name
 * @param {(value: string | null) => void} listener
 */
export function onPreferenceChange(name, listener) {
  globalThis.addEventListener?.('storage', (event) => {
    const { key, newValue } = /** @type {StorageEvent} */ (event);
    if (key === PREFIX + name) listener(newValue);
  });
}
