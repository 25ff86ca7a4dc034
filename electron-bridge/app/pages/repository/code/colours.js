/** Code and its language -> coloured lines, with the marks of a search in them. */

import { grammarOf, highlighted } from './grammars.js';
import { linesOf, runsOfHtml, withMarks } from './runs.js';

/** @typedef {import('./runs.js').Run} Run */
/** @typedef {import('./marks.js').Range} Range */

/** Characters; highlight.js takes about two microseconds for each, and the page must not wait. */
export const MAX_COLOURED_CHARS = 16_000;
/** A longer line is data, or minified. */
const MAX_LINE_CHARS = 2_000;
/** Grammars with comments between these, whose further lines usually begin with a star. */
const COMMENT_BEGIN = '/*';
const STARRED = new Set(
  'c cpp csharp css dart go groovy java javascript kotlin less objectivec protobuf rust scala scss swift typescript'.split(
    ' ',
  ),
);
const STARRED_LINE = /^\s*\*(?:[\s/]|$)/;

/**
 * @param {string} text
 * @param {string} language
 * @param {readonly Range[]} [marks]
 * @returns {Run[][]} for each line its runs
 */
export function colouredLines(text, language, marks = []) {
  return linesOf(withMarks(colouredRuns(text, language), marks));
}

/**
 * @param {string} text
 * @param {string} language
 * @returns {{ text: string, kind: string }[]}
 */
export function colouredRuns(text, language) {
  const plain = [{ text, kind: '' }];
  if (text.length > MAX_COLOURED_CHARS || hasLongLine(text)) return plain;
  const begin = isInsideComment(text, language) ? COMMENT_BEGIN : '';
  const html = highlighted(begin + text, language);
  if (html === null) return plain;
  const [first, ...rest] = runsOfHtml(html);
  const runs = first ? [{ ...first, text: first.text.slice(begin.length) }, ...rest] : [];
  return isSame(runs, text) ? runs : plain;
}

/**
 * Whether a piece of a file begins in the middle of a comment, whose quotes are no strings.
 *
 * @param {string} text
 * @param {string} language
 */
function isInsideComment(text, language) {
  const firstLine = text.slice(0, text.indexOf('\n') + 1) || text;
  return STARRED_LINE.test(firstLine) && STARRED.has(grammarOf(language) ?? '');
}

/** @param {string} text */
function hasLongLine(text) {
  return (
    text.length > MAX_LINE_CHARS && text.split('\n').some((line) => line.length > MAX_LINE_CHARS)
  );
}

/**
 * Marks are places in the text, so not a letter may be lost on the way.
 *
 * @param {readonly { text: string }[]} runs
 * @param {string} text
 */
function isSame(runs, text) {
  return runs.map((run) => run.text).join('') === text;
}
