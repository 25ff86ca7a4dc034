/** The places that an answer is based on, cited ones first. Pure. */

import { checkCitation } from './citations.js';

/** @typedef {import('../../../../types/protocol.d.ts').ResultContent} ResultContent */

/**
 * @typedef {object} Source
 * @property {string} path
 * @property {number} begin from 1
 * @property {number} end
 * @property {import('./citations.js').CheckedCitation['state'] | 'shown'} state `shown`: the model
 *   was shown it, and has not named it
 * @property {string} preview the first lines, as the model was shown them; '' if unknown
 */

const PREVIEW_LINES = 8;

/**
 * @param {import('./turns.js').Turn} turn
 * @returns {Source[]}
 */
export function sourcesOf({ rounds, citations }) {
  const shown = rounds.flatMap(({ result }) => result);
  const cited = new Map();
  for (const { filePath, begin, end } of citations) {
    const place = { text: '', path: filePath, begin, end };
    const found = checkCitation(place, citations);
    cited.set(`${found.path}:${found.begin}-${found.end}`, {
      path: found.path,
      begin: found.begin,
      end: found.end,
      state: found.state,
      preview: previewOf(shown, filePath, begin, end),
    });
  }
  const isCited = (/** @type {ResultContent} */ { filePath, beginLine, endLine }) =>
    citations.some(
      (one) => one.filePath === filePath && one.begin <= endLine && one.end > beginLine,
    );
  const others = new Map(
    shown
      .filter((excerpt) => !isCited(excerpt))
      .map((excerpt) => [`${excerpt.filePath}:${excerpt.beginLine}`, sourceOf(excerpt)]),
  );
  return [...cited.values(), ...others.values()];
}

/**
 * @param {ResultContent} excerpt
 * @returns {Source}
 */
function sourceOf({ filePath, beginLine, endLine, content }) {
  const preview = firstLines(content.split('\n'));
  return { path: filePath, begin: beginLine + 1, end: endLine, state: 'shown', preview };
}

/**
 * @param {ResultContent[]} shown
 * @param {string} path
 * @param {number} begin
 * @param {number} end
 */
function previewOf(shown, path, begin, end) {
  const within = shown.find(
    (one) => one.filePath === path && one.beginLine < begin && one.endLine >= begin,
  );
  if (!within) return '';
  const first = begin - 1 - within.beginLine;
  return firstLines(within.content.split('\n').slice(first, first + end - begin + 1));
}

/** @param {string[]} lines */
function firstLines(lines) {
  return lines.slice(0, PREVIEW_LINES).join('\n').trimEnd();
}
