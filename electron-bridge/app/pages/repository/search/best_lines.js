/** Which lines of a result say why it was found: those with the words, the definition. Pure. */

/** @typedef {import('../code/marks.js').Range} Range */

/** So many lines of a result are in sight before it is expanded. */
export const SHOWN_LINES = 3;
/** What nobody looks for: imports, lines without a letter or digit. */
const DULL =
  /^\s*(?:(?:import|from|#include|use|using|require|package|export \* from)\b.*|[^\p{L}\p{N}]*)$/u;
const DULL_SHARE = 0.2;
const DEFINITION_WEIGHT = 1.5;
/** A further mark of the same word; one of another word is worth 1. */
const AGAIN_WEIGHT = 0.1;
const DULL_LINE_COST = 0.3;
const SIGNATURE = /^<Signature> (.*)$/m;
const MAX_COMPARED_CHARS = 60;

/**
 * @param {{ content: string, marks: readonly Range[], metadata: string }} result
 * @param {number} [count]
 * @returns {{ begin: number, end: number, lineCount: number }} lines from 0
 */
export function bestLines({ content, marks, metadata }, count = SHOWN_LINES) {
  const lines = content.replace(/\n$/, '').split('\n');
  const lineCount = lines.length;
  if (lineCount <= count) return { begin: 0, end: lineCount, lineCount };
  const words = wordsOfLines(content, marks);
  const definition = definitionLine(lines, metadata);
  let best = { begin: 0, score: -Infinity };
  for (let begin = 0; begin + count <= lineCount; begin += 1) {
    const score = scoreOf(lines, words, definition, begin, begin + count);
    if (score > best.score + 1e-9) best = { begin, score };
  }
  return { begin: best.begin, end: best.begin + count, lineCount };
}

/**
 * @param {string[]} lines
 * @param {Map<number, string[]>} words
 * @param {number} definition
 * @param {number} begin
 * @param {number} end
 */
function scoreOf(lines, words, definition, begin, end) {
  /** @type {Set<string>} */
  const seen = new Set();
  let score = 0;
  for (let line = begin; line < end; line += 1) {
    const isDull = DULL.test(lines[line]);
    const share = isDull ? DULL_SHARE : 1;
    for (const word of words.get(line) ?? []) {
      score += share * (seen.has(word) ? AGAIN_WEIGHT : 1);
      seen.add(word);
    }
    if (isDull) score -= DULL_LINE_COST;
  }
  if (definition >= begin && definition < end) {
    // The nearer to the top, the more of what it defines is in sight.
    score += DEFINITION_WEIGHT - 0.1 * (definition - begin);
  }
  return score;
}

/**
 * @param {string} content
 * @param {readonly Range[]} marks in order
 * @returns {Map<number, string[]>} the marked words of each line
 */
function wordsOfLines(content, marks) {
  /** @type {Map<number, string[]>} */
  const words = new Map();
  let line = 0;
  let place = 0;
  for (const [begin, end] of marks) {
    for (let next = content.indexOf('\n', place); next >= 0 && next < begin;) {
      line += 1;
      place = next + 1;
      next = content.indexOf('\n', place);
    }
    words.set(line, [...(words.get(line) ?? []), content.slice(begin, end).toLowerCase()]);
  }
  return words;
}

/**
 * @param {string[]} lines
 * @param {string} metadata
 * @returns {number} -1 if the definition stands elsewhere
 */
function definitionLine(lines, metadata) {
  const signature = SIGNATURE.exec(metadata)?.[1].slice(0, MAX_COMPARED_CHARS).trim();
  if (!signature) return -1;
  return lines.findIndex((line) => line.replace(/\s+/g, ' ').trim().startsWith(signature));
}
