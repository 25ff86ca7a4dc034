/** How much of a result is shown before it is expanded. Pure. */

export const SHOWN_LINES = 12;
/** Two lines more are no reason for a button. */
const TOLERANCE = 2;
const ABOVE_THE_MARK = 3;

/**
 * @param {{ lineCount: number, firstMarked: number | null, isExpanded: boolean }} what lines from 0
 * @returns {{ begin: number, end: number, above: number, below: number }} and how many are hidden
 */
export function shownLines({ lineCount, firstMarked, isExpanded }) {
  if (isExpanded || !isCollapsible(lineCount)) {
    return { begin: 0, end: lineCount, above: 0, below: 0 };
  }
  const wanted =
    firstMarked === null || firstMarked < SHOWN_LINES ? 0 : firstMarked - ABOVE_THE_MARK;
  const begin = Math.min(wanted, lineCount - SHOWN_LINES);
  const end = begin + SHOWN_LINES;
  return { begin, end, above: begin, below: lineCount - end };
}

/** @param {number} lineCount */
export function isCollapsible(lineCount) {
  return lineCount > SHOWN_LINES + TOLERANCE;
}

/**
 * @param {string} content
 * @param {number | undefined} place a character of it
 * @returns {number | null} its line, from 0
 */
export function lineAt(content, place) {
  if (place === undefined) return null;
  let line = 0;
  for (let at = content.indexOf('\n'); at >= 0 && at < place; at = content.indexOf('\n', at + 1)) {
    line += 1;
  }
  return line;
}

/** @param {string} content */
export function lineCountOf(content) {
  const lines = content.split('\n').length;
  return content.endsWith('\n') ? Math.max(1, lines - 1) : lines;
}

/**
 * @param {string} content
 * @param {number} count
 * @returns {string} its first lines, with the last line's end
 */
export function firstLines(content, count) {
  let end = 0;
  for (let line = 0; line < count; line += 1) {
    const next = content.indexOf('\n', end);
    if (next < 0) return content;
    end = next + 1;
  }
  return content.slice(0, end);
}
