/** The marked places of a search result as ranges of its text. Pure. */

/** @typedef {readonly [begin: number, end: number]} Range */

const SIGNS = /(<mark>|<\/mark>|&amp;|&lt;|&gt;)/;
/** @type {Record<string, string>} */
const ENTITIES = { '&amp;': '&', '&lt;': '<', '&gt;': '>' };

/**
 * Where `highlighted` (escaped, words in `<mark>`) marks `content`; nothing if they differ, because
 * a mark at the wrong place says something that is not true.
 *
 * @param {string} highlighted
 * @param {string} content
 * @returns {Range[]}
 */
export function marksOf(highlighted, content) {
  /** @type {Range[]} */
  const marks = [];
  let text = '';
  let begin = -1;
  for (const piece of highlighted.split(SIGNS)) {
    if (piece === '<mark>') {
      begin = text.length;
    } else if (piece === '</mark>') {
      if (begin >= 0 && text.length > begin) marks.push([begin, text.length]);
      begin = -1;
    } else {
      text += ENTITIES[piece] ?? piece;
    }
  }
  return text === content ? marks : [];
}

/**
 * The ranges that lie in a part of the text, counted from where the part begins.
 *
 * @param {readonly Range[]} marks in order
 * @param {number} begin
 * @param {number} end
 * @returns {Range[]}
 */
export function marksWithin(marks, begin, end) {
  return marks
    .filter(([from, to]) => to > begin && from < end)
    .map(([from, to]) => [Math.max(from, begin) - begin, Math.min(to, end) - begin]);
}
