/**
 * The language of the page and its words.
 *
 * A word is a text with `{places}`, or one text per plural form, chosen by the value `count`.
 */

import { readPreference, savePreference, onPreferenceChange } from './preferences.js';
import { fillIn, selectForm } from './text_format.js';
import { furtherLanguages } from '../languages/index.js';
import { en } from './texts/en.js';
import { zh } from './texts/zh.js';

/** @typedef {string} Language a code, such as 'en' */
/** @typedef {import('./text_format.js').Texts} Words */
/** @typedef {{ code: Language, locale: string, name: string, texts: Words }} LanguageFile `locale`:
 *   what `Intl` and `<html lang>` call it; `name`: what those who speak it call it */

/** @type {LanguageFile[]} */
const languages = [
  { code: 'en', locale: 'en', name: 'English', texts: { ...en } },
  { code: 'zh', locale: 'zh-CN', name: '中文', texts: { ...zh } },
];
/** @type {Record<Language, Words>} */
const texts = Object.fromEntries(languages.map((one) => [one.code, one.texts]));
for (const one of furtherLanguages) addLanguage(one);

/** @type {Set<() => void>} */
const listeners = new Set();
let current = known(readPreference('language') ?? globalThis.navigator?.language);

/**
 * The words of a page, beside those in common/texts.
 *
 * @param {Record<Language, Words>} more
 */
export function addTexts(more) {
  for (const [code, words] of Object.entries(more)) Object.assign(texts[code], words);
}

/**
 * A language beside English and Chinese; what it does not say is shown in English.
 *
 * @param {LanguageFile} added
 */
export function addLanguage(added) {
  languages.push(added);
  texts[added.code] = { ...added.texts };
}

/** Those to choose from. */
export function listLanguages() {
  return languages.map(({ code, locale: tag, name }) => ({ code, locale: tag, name }));
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
  return languages.find(({ code }) => code === current)?.locale ?? 'en';
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
  const wanted = name?.toLowerCase() ?? '';
  return languages.find(({ code }) => wanted.split('-')[0] === code)?.code ?? 'en';
}

onPreferenceChange('language', (value) => apply(known(value ?? globalThis.navigator?.language)));
apply(current);
