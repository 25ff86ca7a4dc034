/** Words and their places: pure functions over dictionaries. */

/** @typedef {string | Record<string, string>} Word one text, or one per plural form */
/** @typedef {Record<string, Word>} Words */

const PLACE = /\{(\w+)\}/;

/** Making one takes longer than using it a hundred times. @type {Map<string, Intl.PluralRules>} */
const pluralRules = new Map();
/** @type {Map<string, Intl.NumberFormat>} */
const numberFormats = new Map();

/**
 * @param {Word} word
 * @param {unknown} count
 * @param {string} locale
 */
export function formOf(word, count, locale) {
  if (typeof word === 'string') return word;
  const form = rulesOf(locale).select(Number(count ?? 0));
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
export function filled(text, values, locale) {
  return text.split(PLACE).map((piece, index) => {
    if (index % 2 === 0) return piece;
    const value = values[piece];
    if (value === undefined) return `{${piece}}`;
    return typeof value === 'number' ? numbersOf(locale).format(value) : value;
  });
}

/**
 * What two dictionaries do not have in common: keys, or places inside a word.
 *
 * @param {Words} one
 * @param {Words} other
 * @returns {string[]}
 */
export function differences(one, other) {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].filter((key) => placesOf(one[key]) !== placesOf(other[key])).sort();
}

/** @param {Word | undefined} word */
function placesOf(word) {
  if (word === undefined) return undefined;
  const text = typeof word === 'string' ? word : Object.values(word).join(' ');
  const places = text.split(PLACE).filter((_piece, index) => index % 2 === 1);
  return [...new Set(places)].sort().join(' ');
}

/** @param {string} locale */
function rulesOf(locale) {
  const rules = pluralRules.get(locale) ?? new Intl.PluralRules(locale);
  pluralRules.set(locale, rules);
  return rules;
}

/** @param {string} locale */
function numbersOf(locale) {
  const format = numberFormats.get(locale) ?? new Intl.NumberFormat(locale);
  numberFormats.set(locale, format);
  return format;
}
