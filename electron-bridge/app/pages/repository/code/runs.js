/** Text as runs of one colour each, and runs as lines. Pure. */

/**
 * @typedef {object} Run
 * @property {string} text
 * @property {string} kind class names of highlight.js, or ''
 * @property {boolean} isMarked
 */

const SIGNS = /(<span class="[^"<>]*">|<\/span>|&amp;|&lt;|&gt;|&quot;|&#x27;)/;
const CLASSES = /^<span class="([^"<>]*)">$/;
/** Only names that a style sheet may have an opinion on. */
const KIND = /^hljs-[\w -]+$/;
/** @type {Record<string, string>} */
const ENTITIES = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'" };

/**
 * What highlight.js says, without its HTML: only class names and text are taken from it.
 *
 * @param {string} html
 * @returns {{ text: string, kind: string }[]}
 */
export function runsOfHtml(html) {
  /** @type {{ text: string, kind: string }[]} */
  const runs = [];
  /** @type {string[]} */
  const kinds = [''];
  for (const piece of html.split(SIGNS)) {
    if (piece === '') continue;
    const opened = CLASSES.exec(piece);
    if (opened) kinds.push(KIND.test(opened[1]) ? opened[1] : kinds[kinds.length - 1]);
    else if (piece === '</span>') kinds.pop();
    else append(runs, ENTITIES[piece] ?? piece, kinds[kinds.length - 1] ?? '');
  }
  return runs;
}

/**
 * Cut the runs where marks begin and end.
 *
 * @param {readonly { text: string, kind: string }[]} runs
 * @param {readonly import('./marks.js').Range[]} marks in order, not overlapping
 * @returns {Run[]}
 */
export function withMarks(runs, marks) {
  /** @type {Run[]} */
  const cut = [];
  let place = 0;
  let next = 0;
  for (const { text, kind } of runs) {
    const end = place + text.length;
    let from = place;
    while (from < end) {
      while (next < marks.length && marks[next][1] <= from) next += 1;
      const mark = marks[next];
      const isMarked = mark !== undefined && mark[0] <= from;
      const to = Math.min(end, mark === undefined ? end : isMarked ? mark[1] : mark[0]);
      cut.push({ text: text.slice(from - place, to - place), kind, isMarked });
      from = to;
    }
    place = end;
  }
  return cut;
}

/**
 * The runs of each line; a line break at the very end begins no further line.
 *
 * @param {readonly Run[]} runs
 * @returns {Run[][]}
 */
export function linesOf(runs) {
  /** @type {Run[][]} */
  const lines = [[]];
  for (const { text, kind, isMarked } of runs) {
    const pieces = text.split('\n');
    pieces.forEach((piece, index) => {
      if (index > 0) lines.push([]);
      const shown = piece.endsWith('\r') ? piece.slice(0, -1) : piece;
      if (shown) lines[lines.length - 1].push({ text: shown, kind, isMarked });
    });
  }
  if (lines.length > 1 && lines[lines.length - 1].length === 0) lines.pop();
  return lines;
}

/**
 * @param {{ text: string, kind: string }[]} runs
 * @param {string} text
 * @param {string} kind
 */
function append(runs, text, kind) {
  const last = runs[runs.length - 1];
  if (last?.kind === kind) last.text += text;
  else runs.push({ text, kind });
}
