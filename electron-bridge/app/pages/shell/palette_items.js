/** What the palette offers, and what of it fits a text. Pure. */

/**
 * @typedef {object} PaletteItem
 * @property {'action' | 'repository' | 'file' | 'symbol' | 'query'} kind
 * @property {string} label
 * @property {string} [detail]
 * @property {() => unknown} run
 */

const MAX_ITEMS = 40;
/** @type {readonly PaletteItem['kind'][]} */
const ORDER = Object.freeze(['repository', 'symbol', 'file', 'query', 'action']);

/**
 * Those whose label or detail has the letters of the text in order; the best first in each kind.
 *
 * @param {readonly PaletteItem[]} items
 * @param {string} text
 * @returns {PaletteItem[]}
 */
export function fittingItems(items, text) {
  const wanted = text.toLowerCase().replace(/\s+/g, '');
  return items
    .map((item) => ({ item, rank: rankOf(item, wanted) }))
    .filter(({ rank }) => rank !== null)
    .sort((one, other) => Number(one.rank) - Number(other.rank))
    .map(({ item }) => item)
    .slice(0, MAX_ITEMS);
}

/**
 * Items of one kind stand together.
 *
 * @param {readonly PaletteItem[]} items
 * @returns {PaletteItem[]}
 */
export function groupedItems(items) {
  return ORDER.flatMap((kind) => items.filter((item) => item.kind === kind));
}

/**
 * @param {PaletteItem} item
 * @param {string} wanted
 * @returns {number | null}
 */
function rankOf({ label, detail = '' }, wanted) {
  const name = label.toLowerCase();
  if (name.startsWith(wanted)) return 0;
  if (name.includes(wanted)) return 1;
  if (hasLetters(name, wanted)) return 2;
  return detail.toLowerCase().includes(wanted) ? 3 : null;
}

/**
 * @param {string} name
 * @param {string} wanted
 */
function hasLetters(name, wanted) {
  let at = 0;
  for (const letter of name) if (letter === wanted[at]) at += 1;
  return at === wanted.length;
}
