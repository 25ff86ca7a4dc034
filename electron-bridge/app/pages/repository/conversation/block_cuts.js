/** Where Markdown may be cut, and what is better not read as Markdown. Pure. */

/**
 * @typedef {object} Fence
 * @property {number} length of the opening line
 * @property {string} language
 * @property {RegExp} closing a whole line
 * @property {RegExp} closingAtEnd the same, as the last line of all
 */

const OPENING = /^(?:[ \t]*\n)*( {0,3})(`{3,}(?=[^`\n]*\n)|~{3,})([^\n]*)\n/;
const TOP_ITEM = /^(?:[-*+]|\d{1,9}[.)])[ \t]/;
const FENCE_LINE = /^[ \t]*(?:`{3,}|~{3,})/;
const FENCED = /^[ \t]*(`{3,}|~{3,})[\s\S]*?(?:^[ \t]*\1|$(?![\s\S]))/gm;
const SIGNS = /[*_[\]~!`<]/g;
/** Reading emphasis takes time with the square of these; no prose has so many. */
const MAX_SIGNS = 500;
/** Nested blocks; hand-written text has three levels at most. */
const MAX_DEPTH = /^(?:[ \t]*>){40}/m;

/**
 * A block of code that begins here, its first line complete.
 *
 * @param {string} text
 * @returns {Fence | null}
 */
export function openFence(text) {
  const match = OPENING.exec(text);
  if (!match) return null;
  const [all, indent, fence, info] = match;
  const closing = `[ ]{0,${Math.max(3, indent.length)}}${fence[0]}{${fence.length},}[ \\t]*`;
  return {
    length: all.length,
    language: info.trim().split(/\s/)[0] ?? '',
    closing: new RegExp(`^${closing}\\n`, 'm'),
    closingAtEnd: new RegExp(`(?:^|(?<=\\n))${closing}$`),
  };
}

/**
 * Where a long block can be cut.
 *
 * @param {{ type: string }} token
 * @param {string} text
 * @returns {number} 0: better not yet
 */
export function findCut({ type }, text) {
  if (type === 'list') return lastItem(text);
  const line = text.lastIndexOf('\n', text.length - 2) + 1;
  if (line > 0) return line;
  return type === 'paragraph' || type === 'text' ? text.lastIndexOf(' ') + 1 || text.length : 0;
}

/**
 * The two lines that make a table of what follows.
 *
 * @param {string} text
 */
export function tableHead(text) {
  const lines = text.replace(/^\s*\n/, '').split('\n');
  return `${lines[0]}\n${lines[1]}\n`;
}

/**
 * Whether reading it as Markdown would take too long.
 *
 * @param {string} text
 */
export function isTangled(text) {
  if (MAX_DEPTH.test(text)) return true;
  return (
    text.length > MAX_SIGNS && (text.replace(FENCED, '').match(SIGNS)?.length ?? 0) > MAX_SIGNS
  );
}

/**
 * @param {string} text
 * @returns {number} where the last item at the margin begins
 */
function lastItem(text) {
  let place = 0;
  let last = 0;
  let isInFence = false;
  for (const line of text.split('\n')) {
    if (FENCE_LINE.test(line)) isInFence = !isInFence;
    else if (!isInFence && place > 0 && TOP_ITEM.test(line)) last = place;
    place += line.length + 1;
  }
  return last;
}
