/**
 * Coloured lines as elements.
 *
 * Made by hand and not by templates: code has ten times as many pieces as all the rest of the page.
 * Text of files reaches the page only as text.
 */

/** @typedef {import('./runs.js').Run} Run */

/**
 * Numbered lines, one element each.
 *
 * @param {readonly Run[][]} lines
 * @param {{ from: number, isHit?: (number: number) => boolean }} options
 *   `from`: the number of the first line, counted from 1
 */
export function numberedLines(lines, { from, isHit = () => false }) {
  const all = element('div', 'code-lines');
  lines.forEach((runs, index) => {
    const number = from + index;
    const line = element('div', isHit(number) ? 'code-line hit' : 'code-line');
    line.dataset.line = String(number);
    const text = element('span', 'code-text');
    text.append(...runs.map(pieceOf));
    line.append(text);
    all.append(line);
  });
  return all;
}

/**
 * Lines without numbers, as the inside of a `<code>`.
 *
 * @param {readonly Run[][]} lines
 */
export function plainLines(lines) {
  const all = element('span', 'code-text');
  for (const runs of lines) all.append(...runs.map(pieceOf), '\n');
  return all;
}

/** @param {Run} run */
function pieceOf({ text, kind, isMarked }) {
  if (!kind && !isMarked) return text;
  // A mark has colours of its own; not every other one can be read on it.
  const piece = isMarked ? element('mark', '') : element('span', kind);
  piece.textContent = text;
  return piece;
}

/**
 * @param {string} tag
 * @param {string} className
 */
function element(tag, className) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  return made;
}
