/** A stretch of a file in pages that are coloured one by one, and the marks in them. */

import { colouredLines } from '../code/colours.js';
import { marksWithin } from '../code/marks.js';

/**
 * @typedef {object} FilePage
 * @property {number} begin line, from 0
 * @property {number} end
 * @property {string} text
 * @property {import('../code/runs.js').Run[][] | null} lines once they are coloured
 */

/** Lines; coloured in one go, so no more than is done between two frames. */
const PAGE = 400;

/**
 * @param {{ content: string, beginLine: number, endLine: number }} found
 * @returns {FilePage[]}
 */
export function pagesAround({ content, beginLine, endLine }) {
  const lines = content.split('\n');
  const count = Math.max(0, Math.min(endLine - beginLine, lines.length));
  const pages = [];
  for (let from = 0; from < count; from += PAGE) {
    const to = Math.min(from + PAGE, count);
    const text = `${lines.slice(from, to).join('\n')}\n`;
    pages.push({ begin: beginLine + from, end: beginLine + to, text, lines: null });
  }
  return pages;
}

/**
 * The coloured lines of a page, with the marks of what was found, where it still stands.
 *
 * @param {FilePage} page
 * @param {string} language
 * @param {import('./viewer.js').Shown} shown
 */
export function linesOfPage(page, language, shown) {
  page.lines ??= colouredLines(page.text, language, marksInPage(page, shown));
  return page.lines;
}

/**
 * @param {FilePage} page
 * @param {{ beginLine: number, content?: string, marks?: readonly import('../code/marks.js').Range[] }} shown
 */
export function marksInPage({ begin, end, text }, { beginLine, content, marks }) {
  if (!content || !marks?.length || beginLine < begin || beginLine >= end) return [];
  const offset = startOfLine(text, beginLine - begin);
  const room = text.length - offset;
  const isThere = text.startsWith(content.slice(0, room), offset);
  if (!isThere) return [];
  return marksWithin(marks, 0, room).map(
    ([from, to]) => /** @type {const} */ ([from + offset, to + offset]),
  );
}

/**
 * Whether the lines are not any more what they were when they were found.
 *
 * @param {readonly FilePage[]} pages
 * @param {{ beginLine: number, content?: string }} shown
 */
export function isChanged(pages, { beginLine, content }) {
  const text = pages.map((page) => page.text).join('');
  const begin = pages[0]?.begin ?? 0;
  if (!content || pages.length === 0 || beginLine < begin) return false;
  const offset = startOfLine(text, beginLine - begin);
  const known = content.replaceAll('\r\n', '\n').trimEnd();
  const room = text.length - offset;
  return !text.replaceAll('\r\n', '\n').startsWith(known.slice(0, Math.max(0, room - 1)), offset);
}

/**
 * @param {string} text
 * @param {number} line
 */
function startOfLine(text, line) {
  let place = 0;
  for (let count = 0; count < line; count += 1) {
    const next = text.indexOf('\n', place);
    if (next < 0) return text.length;
    place = next + 1;
  }
  return place;
}
