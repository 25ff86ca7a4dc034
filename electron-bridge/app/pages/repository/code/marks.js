/** The marked places of a search result as ranges of its text. Pure. */

/** @typedef {readonly [begin: number, end: number]} Range */

const SIGNS = /(<mark>|<\/mark>|&amp;|&lt;|&gt;)/;
const WORD = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}_]/u;
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

/**
 * The marks, each as far as the word it is in: a mark inside of a name is a riddle. Chinese has no
 * words of this kind.
 *
 * @param {readonly Range[]} marks in order
 * @param {string} content
 * @returns {Range[]}
 */
export function wholeWords(marks, content) {
  /** @type {[number, number][]} */
  const whole = [];
  for (const [from, to] of marks) {
    let begin = from;
    let end = to;
    while (begin > 0 && WORD.test(content[begin]) && WORD.test(content[begin - 1])) begin -= 1;
    while (end < content.length && WORD.test(content[end - 1]) && WORD.test(content[end])) end += 1;
    const last = whole.at(-1);
    if (last && begin <= last[1]) last[1] = Math.max(end, last[1]);
    else whole.push([begin, end]);
  }
  return whole;
}
