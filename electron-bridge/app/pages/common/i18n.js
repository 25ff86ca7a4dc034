/**
 * The language of the page and its words.
 *
 * A word is a text with `{places}`, or one text per plural form, chosen by the value `count`.
 */

import { readPreference, savePreference, onPreferenceChange } from './preferences.js';
import { fillIn, selectForm } from './text_format.js';
import { en } from './texts/en.js';
import { zh } from './texts/zh.js';

/** @typedef {'en' | 'zh'} Language */
/** @typedef {import('./text_format.js').Texts} Words */

/** What `Intl` and `<html lang>` call it. */
const LOCALES = Object.freeze({ en: 'en', zh: 'zh-CN' });

/** @type {Record<Language, Words>} */
const texts = { en: { ...en }, zh: { ...zh } };
/** @type {Set<() => void>} */
const listeners = new Set();
let current = known(readPreference('language') ?? globalThis.navigator?.language);

/**
 * The words of a page, beside those in common/words.
 *
 * @param {Record<Language, Words>} more
 */
export function addTexts(more) {
  Object.assign(texts.en, more.en);
  Object.assign(texts.zh, more.zh);
}

/**
 * The text for a key. Numbers are written as the language writes them.
 *
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  return tParts(key, values).join('');
}

/**
 * The same in parts, so that templates can stand in its places: `html`...${tParts(...)}``.
 *
 * @param {string} key
 * @param {Record<string, unknown>} values
 * @returns {unknown[]}
 */
export function tParts(key, values) {
  const word = texts[current][key] ?? texts.en[key];
  if (word === undefined) return [key];
  return fillIn(selectForm(word, values.count, locale()), values, locale());
}

/** @param {string} key whether there is a word for it */
export function hasText(key) {
  return key in texts.en;
}

/** @returns {Language} */
export function language() {
  return current;
}

export function locale() {
  return LOCALES[current];
}

/** @param {Language} chosen */
export function setLanguage(chosen) {
  savePreference('language', chosen);
  apply(chosen);
}

/**
 * Called after the language has changed, here or in another page.
 *
 * @param {() => void} listener
 * @returns {() => void} ends it
 */
export function onLanguageChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {Language} chosen */
function apply(chosen) {
  current = chosen;
  if (globalThis.document) document.documentElement.lang = locale();
  for (const listener of listeners) listener();
}

/**
 * @param {string | null | undefined} name
 * @returns {Language}
 */
function known(name) {
  return name?.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

onPreferenceChange('language', (value) => apply(known(value ?? globalThis.navigator?.language)));
apply(current);
