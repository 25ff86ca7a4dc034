/** When each repository was last opened from here. */

import { readPreference, savePreference, onPreferenceChange } from './preferences.js';

/** @returns {Record<string, number>} repository -> milliseconds since 1970 */
export function openedTimes() {
  try {
    const found = JSON.parse(readPreference('recent') ?? '{}');
    return Object.fromEntries(Object.entries(found).filter(([, time]) => typeof time === 'number'));
  } catch {
    return {}; // not written by this page
  }
}

/**
 * Call it whenever a repository is opened.
 *
 * @param {string} repoName
 */
export function noteOpened(repoName) {
  savePreference('recent', JSON.stringify({ ...openedTimes(), [repoName]: Date.now() }));
}

/** @param {string} repoName */
export function forgetOpened(repoName) {
  const { [repoName]: _gone, ...others } = openedTimes();
  savePreference('recent', JSON.stringify(others));
}

/** @param {() => void} listener another page has opened or forgotten one */
export function onRecentChange(listener) {
  onPreferenceChange('recent', listener);
}
