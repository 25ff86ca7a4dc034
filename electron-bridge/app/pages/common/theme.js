/** Light or dark: what the user chose, else the system's setting. Styles read `data-theme`. */

import { readPreference, savePreference, onPreferenceChange } from './preferences.js';

/** @typedef {'system' | 'light' | 'dark'} Theme */

/** @type {readonly Theme[]} */
export const THEMES = Object.freeze(['system', 'light', 'dark']);

/** @type {Set<() => void>} */
const listeners = new Set();
let current = known(readPreference('theme'));

/** @returns {Theme} */
export function theme() {
  return current;
}

/** Whether the page is dark now, for what a style sheet cannot express. */
export function isDark() {
  return current === 'dark' || (current === 'system' && systemIsDark.matches);
}

/** @param {Theme} chosen */
export function setTheme(chosen) {
  savePreference('theme', chosen);
  apply(chosen);
}

/**
 * @param {() => void} listener called after the choice or the system's colours have changed
 * @returns {() => void} ends it
 */
export function onThemeChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {Theme} chosen */
function apply(chosen) {
  current = chosen;
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  for (const listener of listeners) listener();
}

/**
 * @param {string | null} name
 * @returns {Theme}
 */
function known(name) {
  return THEMES.find((one) => one === name) ?? 'system';
}

const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
systemIsDark.addEventListener('change', () => apply(current));
onPreferenceChange('theme', (value) => apply(known(value)));
apply(current);
