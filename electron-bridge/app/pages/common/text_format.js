/** Words and their places: pure functions over dictionaries. */

/** @typedef {string | Record<string, string>} Text one text, or one per plural form */
/** @typedef {Record<string, Text>} Texts */

const PLACEHOLDER = /\{(\w+)\}/;

/** Making one takes longer than using it a hundred times. @type {Map<string, Intl.PluralRules>} */
const pluralRules = new Map();
/** @type {Map<string, Intl.NumberFormat>} */
const numberFormats = new Map();

/**
 * @param {Text} word
 * @param {unknown} count
 * @param {string} locale
 */
export function selectForm(word, count, locale) {
  if (typeof word === 'string') return word;
  const form = pluralRulesOf(locale).select(Number(count ?? 0));
  return word[form] ?? word.other;
}

/**
 * The text cut at its places, values put in. A place without a value stays as it is written.
 *
 * @param {string} text
 * @param {Record<string, unknown>} values
 * @param {string} locale
 * @returns {unknown[]}
 */
export function fillIn(text, values, locale) {
  return text.split(PLACEHOLDER).map((piece, index) => {
    if (index % 2 === 0) return piece;
    const value = values[piece];
    if (value === undefined) return `{${piece}}`;
    return typeof value === 'number' ? numberFormatOf(locale).format(value) : value;
  });
}

/**
 * What two dictionaries do not have in common: keys, or places inside a word.
 *
 * @param {Texts} one
 * @param {Texts} other
 * @returns {string[]}
 */
export function findDifferences(one, other) {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].filter((key) => placeholdersOf(one[key]) !== placeholdersOf(other[key])).sort();
}

/** @param {Text | undefined} word */
function placeholdersOf(word) {
  if (word === undefined) return undefined;
  const text = typeof word === 'string' ? word : Object.values(word).join(' ');
  const places = text.split(PLACEHOLDER).filter((_piece, index) => index % 2 === 1);
  return [...new Set(places)].sort().join(' ');
}

/** @param {string} locale */
function pluralRulesOf(locale) {
  const rules = pluralRules.get(locale) ?? new Intl.PluralRules(locale);
  pluralRules.set(locale, rules);
  return rules;
}

/** @param {string} locale */
function numberFormatOf(locale) {
  const format = numberFormats.get(locale) ?? new Intl.NumberFormat(locale);
  numberFormats.set(locale, format);
  return format;
}
